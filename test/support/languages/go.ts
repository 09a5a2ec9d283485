import type { LanguageSample } from './sample.ts';

const NEEDS = [['go', 'version']];

const FILES = {
  'agentos.yaml': 'implement: { coverage: 90 }\n',
  'go.mod': 'module example.com/sample\n\ngo 1.19\n',
  'calc/calc.go':
    '// Package calc knows numbers.\npackage calc\n\n// Answer is known.\nfunc Answer() int {\n\treturn 42\n}\n',
  'calc/calc_test.go': `package calc

import "testing"

func TestAnswer(t *testing.T) {
	if Answer() != 42 {
		t.Fatal("not 42")
	}
}
`,
};

const ADD = `// Add adds 42 to what is not negative.
func Add(value int) (int, error) {
	if value < 0 {
		return 0, errors.New("negative")
	}
	return value + 42, nil
}
`;

/** Of a package that is not there yet, as its users will see it. */
const TESTS = `package sums_test

import (
	"testing"

	"example.com/sample/internal/sums"
)

func TestAdd(t *testing.T) {
	t.Run("010 adds the number", func(t *testing.T) {
		if sum, err := sums.Add(1); err != nil || sum != 43 {
			t.Fatalf("got %d, %v", sum, err)
		}
	})
	t.Run("020 refuses less than 0", func(t *testing.T) {
		if _, err := sums.Add(-1); err == nil {
			t.Fatal("no error")
		}
	})
}
`;

export const goNewPackage: LanguageSample = {
  name: 'Go, a new package',
  needs: NEEDS,
  files: FILES,
  design: [
    ['internal/sums/add.go', 'Add'],
    ['internal/sums/add_test.go', 'Add'],
  ],
  wrong: { 'internal/sums/add_test.go': TESTS.replace('err == nil {', 'err == nil') },
  tests: { 'internal/sums/add_test.go': TESTS },
  code: { 'internal/sums/add.go': `package sums\n\nimport "errors"\n\n${ADD}` },
  command: 'go test ./...',
  refusal:
    /internal\/sums can't be loaded, for another reason than the missing code: .*add_test\.go:\d+:\d+: expected '\{'/,
  isMeasured: true,
};

const OUTSIDE_TESTS = `package calc_test

import (
	"strings"
	"testing"

	sums "example.com/sample/calc"
)

func Test010AddsTheNumber(t *testing.T) {
	if sum, err := sums.Add(1); err != nil || sum != 43 {
		t.Fatalf("got %d, %v", sum, err)
	}
}

func Test020RefusesLessThanNothing(t *testing.T) {
	if _, err := sums.Add(-1); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Fatalf("got %v", err)
	}
}
`;

export const goChangedFile: LanguageSample = {
  name: 'Go, a function in a file that is there',
  needs: NEEDS,
  files: FILES,
  design: [
    ['calc/calc.go', 'Modify'],
    ['calc/add_test.go', 'Add'],
  ],
  wrong: { 'calc/add_test.go': OUTSIDE_TESTS.replace('strings.Contains', 'strings.Contians') },
  tests: { 'calc/add_test.go': OUTSIDE_TESTS },
  code: {
    'calc/calc.go': `${FILES['calc/calc.go'].replace('package calc\n', 'package calc\n\nimport "errors"\n')}\n${ADD}`,
  },
  command: 'go test ./...',
  refusal: /calc can't be loaded, for another reason than the missing code: .*undefined: strings\.Contians/,
  isMeasured: true,
};
