import { writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { linesIn } from '../reports/lines.ts';
import type { Runner } from '../runner.ts';
import { isTestOf } from '../test-files.ts';
import { isPythonMissing, pythonFor } from './pytest.ts';

const COMMAND = /-m unittest\b[^\n"'{}#]*/;

/** Python's own runner. It writes no report, so a script of ours runs it and writes one. */
export const unittest: Runner = {
  name: 'unittest',
  isMissingCode: isPythonMissing,

  sign({ texts, samples }) {
    const all = Object.values(texts).join('\n');
    if (/\bpytest\b|\bpy\.test\b/.test(`${all}\n${samples}`)) return null;
    return COMMAND.test(all) || /^\s*(?:import unittest|from unittest\b)/m.test(samples) ? 'named' : null;
  },

  async usualCommand(directory, { texts, names, top }, env) {
    const python = await pythonFor(directory, env);
    const said = COMMAND.exec(`${texts['tox.ini']}\n${texts['noxfile.py']}`)?.[0].trim();
    if (said !== undefined) return `${python} ${said}`;
    // Discovery doesn't enter folders without an `__init__.py`.
    const isApart =
      top.includes('tests') && !names.includes('__init__.py') && !top.some((name) => isTestOf('python', name));
    return `${python} -m unittest discover${isApart ? ' -s tests' : ''}`;
  },

  headAt: (names, at) => (names[at] === 'unittest' && names[at - 1] === '-m' ? at : null),

  select(_, files) {
    if (files.length === 0 || !files.every((file) => isTestOf('python', file))) return null;
    return { last: files.flatMap((file) => ['-k', `*${posix.basename(file, '.py')}.*`]) };
  },

  async change({ words, head }, index, { folder }) {
    const program = join(folder, `unittest-${index}.py`);
    await writeFile(program, UNITTEST_PROGRAM);
    const named = [words[head - 1], words[head]].filter((word) => word !== undefined);
    return { remove: named, first: [program] };
  },

  environment: async () => ({ env: { PYTHONDONTWRITEBYTECODE: '1' } }),
  read: ({ folder, pathInWorktree }) => linesIn(folder, pathInWorktree),
};

const UNITTEST_PROGRAM = `import json, os, sys, unittest

sys.path[0] = os.getcwd()
report = os.path.splitext(os.path.abspath(__file__))[0] + ".lines"


def write(line):
    with open(report, "a") as file:
        file.write(json.dumps(line) + "\\n")


def file_of_module(name):
    end = os.sep + name.replace(".", os.sep) + ".py"
    for folder, folders, files in os.walk(os.getcwd()):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in ("node_modules", "venv")]
        for file in files:
            if os.path.join(folder, file).endswith(end):
                return os.path.join(folder, file)
    return None


def tell(test, outcome, message=None, more=()):
    if type(test).__name__ == "_FailedTest":
        reason = str(message)
        # Drop the heading above the traceback.
        write({"file": file_of_module(test._testMethodName), "broken": reason[max(reason.find("Traceback"), 0) :]})
        return
    module = sys.modules.get(type(test).__module__)
    inner = getattr(test, "_testMethodName", None)
    names = [type(test).__qualname__, inner] if inner else [str(test)]
    file = getattr(module, "__file__", None) if inner else None
    write({"file": file, "names": names + list(more), "outcome": outcome, "message": message})


class Lines(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        tell(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        tell(test, "failed", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        tell(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        tell(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        tell(test, "skipped")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        tell(test, "failed", "unexpected success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            tell(test, "failed", self._exc_info_to_string(err, test), [subtest._subDescription()])

    def stopTestRun(self):
        super().stopTestRun()
        write({"end": True})


class Runner(unittest.TextTestRunner):
    resultclass = Lines


unittest.main(module=None, argv=["python -m unittest", *sys.argv[1:]], testRunner=Runner)
`;
