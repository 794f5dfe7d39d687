# bash completion of tra: commands and options are those that tra itself tells, the rest are files.
_tra() {
    local cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} words
    compopt -o default
    if ((COMP_CWORD == 1)) || [[ $cmd == help ]]; then
        words=$("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
    elif [[ $cur == -* ]]; then
        words=$("${COMP_WORDS[0]}" help "$cmd" 2>/dev/null |
            sed -n 's/^  \(-.,\|   \) \(--[a-z-]*\).*/\2/p')
    else
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _tra tra
