# An implementer as a command that writes what a plan says: `sh from-plan.sh <plan> [<file of its calls>] [<hold>]`. The plan
# is a folder with the files of each call: `tests-1` and `code-1`, and `tests-2` and `code-2` for every further one if they are
# there. While the file named as hold is there, the code is not finished.
plan=$1 state=$2 hold=$3
task=$(cat)
newline='
'
case $newline$task in *"${newline}Write the tests for issue"*) phase=tests ;; *) phase=code ;; esac
case $task in *'It is not done.'*) again=true ;; *) again=false ;; esac
if [ -n "$state" ]; then
  { printf '%s\0' "$phase" 42 "$again" "$task"; printf '\036'; } >> "$state"
fi
files=$plan/$phase-1
if $again && [ -d "$plan/$phase-2" ]; then files=$plan/$phase-2; fi
cp -R "$files/." .
if [ $phase = code ] && [ -n "$hold" ]; then
  while [ -e "$hold" ]; do echo 'still at it'; sleep 0.1; done
fi
