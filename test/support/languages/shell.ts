import type { LanguageSample } from './sample.ts';

const TESTS = `. lib/add.sh

test_010_adds_the_number() {
  [ "$(add 1)" = 43 ]
}

test_020_refuses_text() {
  ! add x
}
`;

const PARTS = {
  design: [
    ['lib/add.sh', 'Add'],
    ['tests/add.sh', 'Add'],
  ],
  wrong: { 'tests/add.sh': TESTS.replace('! add x\n}', '! add x') },
  tests: { 'tests/add.sh': TESTS },
  code: {
    'lib/add.sh': `add() {
  case $1 in '' | *[!0-9]*) return 1 ;; esac
  echo $(($1 + 42))
}
`,
  },
  command: './run-tests.sh',
  isMeasured: false,
} as const;

const FILES = {
  'lib/answer.sh': 'answer() {\n  echo 42\n}\n',
  'tests/answer.sh': '. lib/answer.sh\n\ntest_answer() {\n  [ "$(answer)" = 42 ]\n}\n',
};

/** Every function of a file in tests/ whose name begins with `test_`, each in a shell of its own. */
const NAMES = `names() {
  sed -n 's/^\\(test_[a-z0-9_]*\\)() {$/\\1/p' "$1"
}
`;

export const shellTap: LanguageSample = {
  ...PARTS,
  name: 'a shell script that prints TAP',
  refusal:
    /a test file can't be loaded, for another reason than the missing code: Bail out! tests\/add\.sh can't be read/,
  needs: [],
  files: {
    ...FILES,
    'agentos.yaml': 'tests: { command: ./run-tests.sh, runner: tap }\n',
    'run-tests.sh': `#!/bin/sh
${NAMES}
count=0
status=0
for file in tests/*.sh; do
  if ! sh -n "$file"; then
    echo "Bail out! $file can't be read"
    exit 1
  fi
  for name in $(names "$file"); do
    count=$((count + 1))
    if (. "./$file"; "$name") >&2; then echo "ok $count - $name"; else echo "not ok $count - $name"; status=1; fi
  done
done
echo "1..$count"
exit "$status"
`,
  },
};

export const shellJunit: LanguageSample = {
  ...PARTS,
  name: 'a shell script that writes JUnit XML',
  refusal: /tests\/add\.sh can't be loaded, for another reason than the missing code: syntax error/,
  needs: [],
  files: {
    ...FILES,
    'agentos.yaml': 'tests: { command: ./run-tests.sh, runner: junit, report: reports/junit.xml }\n',
    'run-tests.sh': `#!/bin/sh
${NAMES}
mkdir -p reports
status=0
exec 3> reports/junit.xml
echo '<testsuites>' >&3
for file in tests/*.sh; do
  echo "<testsuite name='$file'>" >&3
  if sh -n "$file"; then
    for name in $(names "$file"); do
      if (. "./$file"; "$name") >&2; then result=''; else result='<failure>it failed</failure>'; status=1; fi
      echo "<testcase classname='$file' name='$name'>$result</testcase>" >&3
    done
  else
    echo "<testcase classname='$file' name='$file'><error>syntax error</error></testcase>" >&3
    status=1
  fi
  echo '</testsuite>' >&3
done
echo '</testsuites>' >&3
exit "$status"
`,
  },
};
