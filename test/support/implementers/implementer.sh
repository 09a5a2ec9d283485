# An implementer as a command: the task on stdin, the files it changes count. How it behaves is said by its arguments:
# `sh implementer.sh [tests=<how>] [code=<how>] [mends=yes] [state=<file>] [hold=<file>] …`. It has no other way to know anything.
# A shell starts in a fraction of the time that Node needs, and most tests call it twice.
task=$(cat)
newline='
'
case $newline$task in *"${newline}Write the tests for issue"*) phase=tests ;; *) phase=code ;; esac
case $task in *'It is not done.'*) again=true ;; *) again=false ;; esac
id=$(printf '%s\n' "$task" | sed -n '/for issue [a-zA-Z0-9_-]*, "/{s/.*for issue \([a-zA-Z0-9_-]*\), ".*/\1/p;q;}')

tests=well code=well state='' hold='' outside='' mark='' once='' only='' mends=no
for word in "$@"; do
  # For one item: `43:code=wrong`.
  case $word in
    "$id:"*) word=${word#*:} ;;
    [0-9]*:*) continue ;;
  esac
  value=${word#*=}
  case $word in
    tests=*) tests=$value ;;
    code=*) code=$value ;;
    state=*) state=$value ;;
    hold=*) hold=$value ;;
    outside=*) outside=$value ;;
    mark=*) mark=$value ;;
    once=*) once=$value ;;
    only=*) only=$value ;;
    mends=*) mends=$value ;;
    *) echo "no such setting: $word" >&2; exit 2 ;;
  esac
done
if [ $phase = tests ]; then how=$tests; else how=$code; fi

# Fields end with a null byte, calls with a record separator; in one piece, since others may write at the same time.
if [ -n "$state" ]; then
  { printf '%s\0' "$phase" "$id" "$again" "$task"; env -0; printf '\036'; } > "$state.$$"
  cat "$state.$$" >> "$state"
  rm "$state.$$"
fi

test_file=test/item-$id.test.js
code_file=src/item-$id.js

tests_text() {
  cat << END
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item$id } from '../src/item-$id.js';

test('010 adds the number', () => {
  assert.equal(item$id(1), $((id + 1)));
});

test('020 refuses text', () => {
  assert.throws(() => item$id('x'), TypeError);
});
END
}

code_text() {
  cat << END
export function item$id(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + $id;
}
END
}

table() {
  seq 0 59999 | sed 's|^|// line |'
}

# Stdin becomes the file.
write() {
  case $1 in */*) mkdir -p "${1%/*}" ;; esac
  cat > "$1"
}

# With what stands there changed so: `changed code 's/+/-/'`.
changed() {
  "${1}_text" | sed "$2"
}

well() {
  if [ $phase = tests ]; then tests_text | write "$test_file"; else code_text | write "$code_file"; fi
}

# With `mends=yes` whatever was wrong at first is right when it is asked for again.
if $again && [ $mends = yes ]; then
  well
  if [ $how = breaks-old ]; then echo 'export const answer = 42;' > src/main.js; fi
  exit 0
fi

case $phase:$how in
  *:well) well ;;

  tests:with-code)
    well
    code_text | write "$code_file"
    { at=0; while [ $at -lt 1000 ]; do printf '\000\200\377'; at=$((at + 1)); done; } > src/logo.bin
    table > src/table.js
    ;;
  tests:one-missing) changed tests 's/020 //' | write "$test_file" ;;
  tests:skipped) changed tests "s/test('020/test.skip('020/" | write "$test_file" ;;
  tests:passing)
    write "$test_file" << 'END'
import assert from 'node:assert/strict';
import { test } from 'node:test';
test('010 adds', () => assert.ok(true));
test('020 refuses', () => assert.ok(true));
END
    ;;
  tests:guts-old)
    well
    printf "import { test } from 'node:test';\ntest('the answer', () => undefined);\n" > test/main.test.js
    ;;
  tests:syntax-error) { tests_text; echo; printf ')'; } | write "$test_file" ;;
  tests:wrong-import) changed tests 's|\.\./src/|../lib/|' | write "$test_file" ;;
  tests:nothing) ;;

  code:wrong) changed code 's/ + / - /' | write "$code_file" ;;
  # More than a diff for reading shows.
  code:large) well; table > src/a-table.js ;;
  # A package that the first set-up did not install; at first one that no set-up can.
  code:adds-dependency)
    echo '{ "name": "plus", "version": "1.0.0", "type": "module", "main": "index.js" }' | write vendor/plus/package.json
    echo 'export const plus = (a, b) => a + b;' | write vendor/plus/index.js
    { echo "import { plus } from 'plus';"; changed code "s/value + $id/plus(value, $id)/"; } | write "$code_file"
    version='not a version'
    if $again; then version=file:vendor/plus; fi
    sed -e 's/, "dependencies".*/ }/' -e "s| }\$|, \"dependencies\": { \"plus\": \"$version\" } }|" package.json > manifest
    mv manifest package.json
    ;;
  code:nothing) echo 'All done, everything passes.' ;;
  code:edits-tests)
    well
    changed tests "s/'x'/1/" > "$test_file"
    printf "import { test } from 'node:test';\ntest('more', () => undefined);\n" > test/more.test.js
    ;;
  code:revises-more)
    well
    if $again; then
      echo '// revised' >> "$code_file"
      echo 'export const answer = 42; // touched' > src/main.js
      echo 'export {};' > src/more.js
      { tests_text; echo '// touched'; } > "$test_file"
    fi
    ;;
  code:edits-designs)
    well
    echo Done. | write "docs/lld/LLD-$id.md"
    echo Done. | write "docs/lineage/$id/001-issue.md"
    ;;
  code:hides-code) well; echo "$code_file" > .gitignore ;;
  code:writes-by-tests)
    { echo "import { writeFileSync } from 'node:fs';"; echo "writeFileSync('$outside/by-test.txt', 'x');"; code_text; } |
      write "$code_file"
    ;;
  code:links)
    code_text > "$outside/../elsewhere.js"
    mkdir -p src
    ln -s "$outside/../elsewhere.js" "$code_file"
    ;;
  code:breaks-old) well; echo 'export const answer = 41;' > src/main.js ;;
  code:writes-outside)
    well
    echo 'export const answer = 0;' > "$outside/src/main.js"
    echo x > "$outside/new file.txt"
    echo x > ../above.txt
    echo '#!/bin/sh' | write "$outside/.git/hooks/pre-commit"
    ;;
  code:deletes-all) rm -rf ./* ./.[!.]* ;;
  # As a person would who works in the checkout meanwhile.
  code:works-in-checkout)
    well
    rm "$outside/test/main.test.js"
    echo 'export const answer = 0;' > "$outside/src/main.js"
    git -C "$outside" commit --quiet -am 'By a person'
    echo '{}' > "$outside/package.json"
    echo '# Another one' > "$outside/issues/77.md"
    ;;
  code:leaves-children)
    well
    setsid sh -c "sleep 600 # $mark" < /dev/null > /dev/null 2>&1 &
    sh -c "sleep 600 # $mark" < /dev/null > /dev/null 2>&1 &
    ;;
  # Until the file that `hold` names is gone.
  code:held)
    while [ -e "$hold" ]; do echo 'held back'; sleep 0.05; done
    well
    ;;
  code:forever) while :; do echo 'still at it'; sleep 0.1; done ;;
  code:fails) exit 3 ;;
  code:fails-for) if [ "$id" = "$only" ]; then exit 3; else well; fi ;;
  code:fails-once)
    if [ ! -e "$once" ]; then
      : > "$once"
      mkdir -p src
      echo '// half' > src/half.js
      exit 3
    fi
    well
    ;;
  *) echo "no such behaviour: $phase=$how" >&2; exit 2 ;;
esac
