import { expect, test } from 'vitest';
import { parseCompileErrors, parseLibtest } from './cargo.ts';

const RUN = `   Compiling my-m v0.1.0 (/w)
    Finished \`test\` profile [unoptimized + debuginfo] target(s) in 1.47s
     Running unittests src/lib.rs (/t/debug/deps/my_m-25635fca91e01505)

running 5 tests
test inner::tests::deep ... ok
test tests::ign ... ignored, slow
test tests::breaks ... FAILED
test tests::pan - should panic ... ok
test tests::loud ... hello
ok

failures:

---- tests::breaks stdout ----
noise

thread 'tests::breaks' (21811) panicked at src/lib.rs:10:46:
assertion \`left == right\` failed: why not


failures:
    tests::breaks

test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s

error: test failed, to rerun pass \`--lib\`
     Running tests/aborts.rs (/t/debug/deps/aborts-a6e552ad25853b13)

running 1 test
error: test failed, to rerun pass \`--test aborts\`

Caused by:
  process didn't exit successfully: \`/t/debug/deps/aborts-a6e552ad25853b13\` (signal: 6, SIGABRT: process abort signal)
     Running tests/integ.rs (/t/debug/deps/integ-4188022a1f275a19)

running 1 test
test integ ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests my_m

running 1 test
test src/lib.rs - add (line 2) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.13s
`;

const read = (output: string) => parseLibtest(output, (source) => source);

test('every target has its tests, and one that crashes is told of', () => {
  const reading = read(RUN);
  expect(reading?.cases.map(({ file, name, outcome }) => [file, name, outcome])).toEqual([
    ['src/lib.rs', 'inner > tests > deep', 'passed'],
    ['src/lib.rs', 'tests > ign', 'skipped'],
    ['src/lib.rs', 'tests > breaks', 'failed'],
    ['src/lib.rs', 'tests > pan', 'passed'],
    ['src/lib.rs', 'tests > loud', 'passed'],
    ['tests/integ.rs', 'integ', 'passed'],
    [null, 'my_m > src/lib.rs - add (line 2)', 'passed'],
  ]);
  expect(reading?.cases[2]?.message).toContain('why not');
  expect(reading?.loadFailures.map(({ file }) => file)).toEqual(['tests/aborts.rs']);
  expect(reading?.loadFailures[0]?.message).toContain('SIGABRT');
});

const BROKEN = `   Compiling my-m v0.1.0 (/w)
warning: unused variable: \`x\`
 --> src/lib.rs:1:1

error[E0432]: unresolved import \`my_m::newmod\`
 --> tests/newt.rs:1:11
  |
1 | use my_m::newmod::thing;
  |           ^^^^^^ could not find \`newmod\` in \`my_m\`

For more information about this error, try \`rustc --explain E0432\`.
error[E0308]: mismatched types
 --> tests/typed.rs:2:1

error: could not compile \`my-m\` (test "newt") due to 1 previous error
warning: build failed, waiting for other jobs to finish...
error[E0425]: cannot find function \`sub\` in crate \`my_m\`
 --> tests/newt.rs:2:16

error: could not compile \`my-m\` (test "typed") due to 1 previous error
`;

test('compile errors go to the file they are in, however they are mixed', () => {
  const reading = read(BROKEN);
  expect(reading?.cases).toEqual([]);
  expect(reading?.loadFailures.map(({ file, message }) => [file, message.match(/E\d+/g)])).toEqual([
    ['tests/newt.rs', ['E0432', 'E0425']],
    ['tests/typed.rs', ['E0308']],
  ]);
});

test('a failed build without a place is told of as it is', () => {
  const lines = ['error: linking with `cc` failed: exit status: 1', '', 'error: could not compile `m` (lib test)'];
  expect(parseCompileErrors(lines)).toEqual([
    { file: null, message: 'error: linking with `cc` failed: exit status: 1' },
  ]);
});

test("cargo's own errors are no report", () => {
  expect(read('error: no test target named `foo` in default-run packages\n')).toBeNull();
  expect(read('error: failed to parse manifest at `/w/Cargo.toml`\n')).toBeNull();
});
