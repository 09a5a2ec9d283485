# An implementer that settles conflicts, as a command: `sh resolver.sh <how> <file that counts its calls>`.
how=$1 calls=$2
task=$(cat)
echo call >> "$calls"

# Files in conflict without the lines that a script of sed deletes.
settle() {
  grep -l '<<<<<<<' src/* test/* | while read -r path; do sed -i "$1" "$path"; done
}
both='/^<\{7\} /d; /^=\{7\}$/d; /^>\{7\} /d'

case $how in
  both) settle "$both" ;;
  ours) settle '/^<\{7\} /d; /^=\{7\}$/,/^>\{7\} /d' ;;
  # Gets there in the end, and tidies up elsewhere on the way.
  slowly)
    case $task in
      *'It is not done.'*) settle "$both" ;;
      *) echo 'export const answer = 41;' > src/main.js ;;
    esac
    ;;
esac
