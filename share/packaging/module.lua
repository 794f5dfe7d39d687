-- Module file of tra, for Lmod: put it, as tra/VERSION.lua, into a folder of MODULEPATH.
help([[tra: tables, matrices and tensors larger than memory. man tra is where to begin.]])
whatis("Name: tra")
whatis("Description: tables, matrices and tensors larger than memory, on one machine or several")
local prefix = "@PREFIX@"
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("HDF5_PLUGIN_PATH", "@PLUGINS@")
