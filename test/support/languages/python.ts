import { type LanguageSample, works } from './sample.ts';

const NEEDS = [['python3', '-c', 'import pytest']];
/** A plugin of pytest's that is not always there. */
const measures = works(['python3', '-c', 'import pytest_cov']);
const CONFIG = measures ? 'implement: { coverage: 90 }\n' : '';

const TESTS = (module: string): string => `import pytest

from ${module} import add


def test_010_adds_the_number():
    assert add(1) == 43


def test_020_refuses_text():
    with pytest.raises(TypeError):
        add("x")
`;

const ADD = `def add(value):
    if not isinstance(value, int):
        raise TypeError("not a number")
    return value + 42
`;

export const pytestFlat: LanguageSample = {
  name: 'Python, modules at the top',
  needs: NEEDS,
  files: {
    'agentos.yaml': CONFIG,
    'calc.py': 'ANSWER = 42\n',
    'tests/test_calc.py': 'from calc import ANSWER\n\n\ndef test_answer():\n    assert ANSWER == 42\n',
  },
  design: [
    ['adding.py', 'Add'],
    ['tests/test_adding.py', 'Add'],
  ],
  wrong: { 'tests/test_adding.py': TESTS('adding').replace('_text():', '_text(:') },
  tests: { 'tests/test_adding.py': TESTS('adding') },
  code: { 'adding.py': ADD },
  command: 'python3 -m pytest',
  refusal: /tests\/test_adding\.py can't be loaded, for another reason than the missing code: SyntaxError: /,
  isMeasured: measures,
};

/** A build system of its own, so that nothing has to be fetched. */
const BACKEND = `import os
import zipfile


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = "calc-0.1.0-py3-none-any.whl"
    info = "calc-0.1.0.dist-info/"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr("calc.pth", os.path.join(os.getcwd(), "src"))
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: calc\\nVersion: 0.1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "")
    return name


build_wheel = build_editable
`;

export const pytestInSrc: LanguageSample = {
  name: 'Python, a package in src/ that has to be installed',
  needs: [...NEEDS, ['python3', '-c', 'import ensurepip']],
  files: {
    'agentos.yaml': CONFIG,
    'pyproject.toml': `[project]
name = "calc"
version = "0.1.0"

[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[tool.pytest.ini_options]
testpaths = ["tests"]
`,
    'backend.py': BACKEND,
    'src/calc/__init__.py': 'ANSWER = 42\n',
    'tests/test_calc.py':
      'from calc import ANSWER\n\n\nclass TestCalc:\n    def test_answer(self):\n        assert ANSWER == 42\n',
  },
  design: [
    ['src/calc/adding.py', 'Add'],
    ['tests/test_adding.py', 'Add'],
  ],
  wrong: { 'tests/test_adding.py': TESTS('calc.ading') },
  tests: { 'tests/test_adding.py': TESTS('calc.adding') },
  code: { 'src/calc/adding.py': ADD },
  command: 'python3 -m pytest',
  refusal:
    /tests\/test_adding\.py can't be loaded, for another reason than the missing code: ModuleNotFoundError: No module named 'calc\.ading'/,
  isMeasured: measures,
};
