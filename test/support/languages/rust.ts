import type { LanguageSample } from './sample.ts';

const TESTS = `use sample::add::add;

#[test]
fn scenario_010_adds_the_number() {
    assert_eq!(add(1), Some(43));
}

#[test]
fn scenario_020_refuses_less_than_0() {
    assert_eq!(add(-1), None);
}
`;

export const rust: LanguageSample = {
  name: 'Rust, a library with tests/',
  needs: [['cargo', '--version']],
  files: {
    'Cargo.toml': '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n',
    'src/lib.rs': 'pub fn answer() -> i64 {\n    42\n}\n',
    'tests/answer.rs': '#[test]\nfn the_answer() {\n    assert_eq!(sample::answer(), 42);\n}\n',
  },
  design: [
    ['src/add.rs', 'Add'],
    ['src/lib.rs', 'Modify'],
    ['tests/add.rs', 'Add'],
  ],
  wrong: { 'tests/add.rs': `use never_installed::anything;\n${TESTS}` },
  tests: { 'tests/add.rs': TESTS },
  code: {
    'src/add.rs':
      'pub fn add(value: i64) -> Option<i64> {\n    if value < 0 {\n        return None;\n    }\n    Some(value + 42)\n}\n',
    'src/lib.rs': 'pub mod add;\n\npub fn answer() -> i64 {\n    42\n}\n',
  },
  command: 'cargo test',
  refusal:
    /tests\/add\.rs can't be loaded, for another reason than the missing code: .*unresolved import `never_installed`/,
  isMeasured: false,
};
