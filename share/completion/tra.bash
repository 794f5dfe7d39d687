# bash completion of tra: commands, options and their values are those that tra itself tells, the names after -D those of
# the program on the command line, those after FILE.h5: the relations of the file; the rest are files.
_tra() {
    local cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD - 1]} words w file
    # bash cuts words at each colon, unless COMP_WORDBREAKS has none: then the word begins with the file
    [[ $cur == : ]] && file=$before cur=
    [[ $before == : ]] && file=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $cur == *.h5:* ]] && file=${cur%%:*}
    [[ $cur == = ]] && cur=
    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    compopt -o default
    if [[ -f $file ]]; then
        words=$("${COMP_WORDS[0]}" info --names "$file" 2>/dev/null)
        [[ $cur == "$file":* ]] && words=$(sed "s|^|$file:|" <<<"$words")
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    elif ((COMP_CWORD == 1)) || [[ $cmd == help ]]; then
        words=$("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
    elif [[ $before == -D || $before == --define ]]; then
        for w in "${COMP_WORDS[@]:2}"; do
            [[ -f $w && $w != *.h5 ]] || continue
            words+=" $(sed -n 's/^ *\(param\|input\)  *\([A-Za-z_][A-Za-z_0-9]*\).*/\2=/p' "$w")"
        done
        compopt -o nospace
    elif [[ $before == --* ]] && words=$("${COMP_WORDS[0]}" help "$cmd" 2>/dev/null |
        sed -n "s/^ .* $before \([A-Za-z0-9-]*|[A-Za-z0-9|-]*\).*/\1/p") && [[ -n $words ]]; then
        words=${words//|/ }
    elif [[ $cur == -* ]]; then
        words=$("${COMP_WORDS[0]}" help "$cmd" 2>/dev/null |
            sed -n 's/^  \(-.,\|   \) \(--[a-z-]*\).*/\2/p')
    else
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _tra tra
