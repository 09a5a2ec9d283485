# A drafter or reviewer as a command: the prompt on stdin, the reply on stdout. `sh scripted-model.sh <folder>`: the
# folder holds a reply per task (`lld-42.md`, or `lld.md` for all), and `hold-lld-42` while the call is to wait. A reply
# `fails` is a failure. What was asked is told on stderr and kept in `calls`.
folder=$1
asked='^(Write|Review) the (LLD|issue|code|tests) for (issue|the brief) ([a-zA-Z0-9_-]+), ".*'
last=$(sed -nE "s/$asked/\1 \2 \4/p" | tail -n 1)
id=${last##* }
what=${last% *}
case $what in
  *' LLD') task=lld ;;
  *) task=${what#* } ;;
esac
case $what in Review*) task=review-$task ;; esac
echo "$task $id" >> "$folder/calls"
echo "asked for $task $id" >&2

while [ -e "$folder/hold-$task-$id" ]; do sleep 0.02; done

reply=$folder/$task-$id.md
[ -e "$reply" ] || reply=$folder/$task.md
if [ "$(head -c 6 "$reply")" = fails ]; then
  echo 'as told, it fails' >&2
  exit 1
fi
sed "s/{id}/$id/g" "$reply"
