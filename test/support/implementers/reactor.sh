# An implementer that reacts to what happened to a pull request, as a command: `sh reactor.sh <how> <file of its calls>`.
how=$1 calls=$2
task=$(cat)
call=1
[ -e "$calls" ] && call=$(($(tr -cd '\036' < "$calls" | wc -c) + 1))
{ printf '%s\0' code 42 false "$task"; env -0; printf '\036'; } >> "$calls"

case $how in
  # Does what is asked, and more than it may.
  fixes)
    echo "// fixed $call" >> src/item-42.js
    echo '// weakened' >> test/item-42.test.js
    echo '// touched' >> src/main.js
    [ -e "$HOME/reviews" ] || ln -s "$(dirname "$calls")" "$HOME/reviews"
    ;;
  settles) sed -i '/^<\{7\} /d; /^=\{7\}$/d; /^>\{7\} /d' src/item-42.js ;;
  # And leaves something in its home, where tests could find it.
  breaks)
    echo 'export const item42 = () => 41;' > src/item-42.js
    : > "$HOME/planted.js"
    ;;
esac
