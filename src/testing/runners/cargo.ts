import { join } from 'node:path';
import type { LoadFailure } from '../port.ts';
import { type CompileFailure, parseCompileErrors, parseLibtest } from '../reports/libtest.ts';
import type { Ask, Runner } from '../runner.ts';
import { optionsMatching, plainArguments, type RunnerCall, runnerCalls, withCallsChanged } from '../runner-calls.ts';
import { shellQuoted } from '../shell-script.ts';
import { createRustSources } from './rust-sources.ts';

const TAKES_VALUE = new Set(
  `-p --package --exclude --test --bin --example --bench -F --features --target --target-dir --manifest-path
  --profile -j --jobs --color --message-format --config -Z`.split(/\s+/),
);
const INTEGRATION = /(?:^|\/)tests\/([^/]+?)(?:\.rs|\/main\.rs)$/;

export const cargo: Runner = {
  leaves: ['Cargo.lock'],

  select(script, files) {
    const [call, ...others] = cargoCalls(script);
    const sources = files.filter((file) => file.endsWith('.rs'));
    const names = sources.flatMap((file) => INTEGRATION.exec(file)?.[1] ?? []);
    // Tests inside of the library have no target of their own to choose.
    const isAllIntegration = sources.every((file) => /(?:^|\/)tests\//.test(file));
    if (call === undefined || others.length > 0 || names.length === 0 || !isAllIntegration) return script;
    const remove = optionsMatching(call, /^--(lib|bins|bin|tests|test|doc|examples|all-targets)(=|$)/, TAKES_VALUE);
    return withCallsChanged(script, new Map([[call, { remove, last: names.flatMap((name) => ['--test', name]) }]]));
  },

  async instrument(script, place) {
    const calls = cargoCalls(script).filter((call) => !call.words.some(({ text }) => text === '--no-fail-fast'));
    const changed = withCallsChanged(script, new Map(calls.map((call) => [call, { first: ['--no-fail-fast'] }])));
    return {
      // What is run is told on standard error, the results on standard output: only together they make sense.
      script: `{ ${changed}\n} 2>&1`,
      env: {
        CARGO_TERM_COLOR: 'never',
        CARGO_TARGET_DIR: place.env.CARGO_TARGET_DIR ?? join(place.caches, 'cargo-target'),
      },
    };
  },

  async read(place, output, script, ask) {
    const reading = parseLibtest(output.stdout);
    if (reading === null) return null;
    const compileFailures = await allCompileFailures(reading.compileFailures, script, ask);
    const sources = await createRustSources(place.worktree);
    return {
      cases: reading.targets.flatMap((target) =>
        target.cases.map(({ name, outcome, message }) => ({ ...sources.testOf(target, name), outcome, message })),
      ),
      loadFailures: [
        ...compileFailures,
        ...reading.targets.flatMap((target): LoadFailure[] =>
          target.crash === null ? [] : [{ file: sources.fileOf(target), message: target.crash }],
        ),
      ],
      coverage: null,
    };
  },
};

function cargoCalls(script: string): RunnerCall[] {
  return runnerCalls(script).filter(({ runner }) => runner === 'cargo');
}

/** `cargo test` gives up at the first target that doesn't compile; `cargo check` can be told to look at all of them. */
async function allCompileFailures(
  known: readonly CompileFailure[],
  script: string,
  ask: Ask,
): Promise<readonly CompileFailure[]> {
  const [call, ...others] = cargoCalls(script);
  if (known.length === 0 || call === undefined || others.length > 0) return known;
  const dashes = call.words.findIndex(({ text }) => text === '--');
  const dropped = new Set([
    ...plainArguments(call, TAKES_VALUE),
    ...optionsMatching(call, /^--(no-run|no-fail-fast|doc)$/, TAKES_VALUE),
  ]);
  const before = call.words.slice(0, call.head);
  const after = call.words.slice(call.head + 1, dashes < 0 ? undefined : dashes).filter((word) => !dropped.has(word));
  const isChosen = after.some(({ text }) => /^--(tests?|lib|bins?|all-targets)(=|$)/.test(text));
  const words = [
    ...before,
    { text: 'check' },
    { text: '--keep-going' },
    ...(isChosen ? [] : [{ text: '--tests' }]),
    ...after,
  ];
  const { stderr } = await ask(words.map(({ text }) => shellQuoted(text)).join(' '));
  const found = parseCompileErrors(stderr.split(/\r?\n/));
  const files = new Set(found.map(({ file }) => file));
  return [...known.filter(({ file }) => !files.has(file)), ...found];
}
