import type { LanguageSample } from './sample.ts';

const TESTS = `use sample::add::add;

#[test]
fn scenario_010_adds_the_number() {
    assert_eq!(add(1), Some(43));
}
`;
const GUARD = `#[test]
fn scenario_020_the_answer_stays() {
    assert_eq!(sample::answer(), 42);
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
    ['tests/stays.rs', 'Add'],
  ],
  wrong: { 'tests/add.rs': `use never_installed::anything;\n${TESTS}` },
  tests: { 'tests/add.rs': TESTS, 'tests/stays.rs': GUARD },
  code: {
    'src/add.rs':
      'pub fn add(value: i64) -> Option<i64> {\n    if value < 0 {\n        return None;\n    }\n    Some(value + 42)\n}\n',
    'src/lib.rs': 'pub mod add;\n\npub fn answer() -> i64 {\n    42\n}\n',
  },
  command: 'cargo test',
  // The compiler gives up all tests for those that need what is missing.
  guard: '020',
  refusal:
    /tests\/add\.rs can't be loaded, for another reason than the missing code: .*unresolved import `never_installed`/,
  isMeasured: false,
};
