import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { ISSUE } from '../support/models.ts';
import { agentos, PROJECT } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { testRepository } from '../support/repository.ts';
import { treeOf } from '../support/tree.ts';

const COMMANDS = ['lld', 'resume', 'check', 'status', 'logs', 'doctor', 'init', 'demo', 'completion', 'help'];

test('help is on stdout with exit code 0, names every command, and each has an example of its own', async () => {
  const cwd = await testFolder();
  const [main, ...each] = await Promise.all(
    [['--help'], ...COMMANDS.map((command) => [command, '--help'])].map((args) => agentos(args, { cwd })),
  );
  expect(main).toMatchObject({ code: 0, stderr: '' });
  for (const [at, command] of COMMANDS.entries()) {
    expect(main?.stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
    expect(each[at]).toMatchObject({ code: 0, stderr: '' });
    expect(each[at]?.stdout.split('Examples:')[1]).toContain(`agentos ${command}`);
  }
  expect(await treeOf(cwd)).toEqual({});
});

test('every flag that an example uses exists', async () => {
  const cwd = await testFolder();
  for (const command of COMMANDS) {
    const { stdout } = await agentos(['help', command], { cwd });
    const [options = '', examples = ''] = stdout.split('Examples:');
    for (const [flag] of examples.matchAll(/--[a-z-]+/g)) expect(options, `${command} ${flag}`).toContain(`${flag} `);
  }
});

test('without a command the help is shown, as a usage error', async () => {
  const { code, stdout, stderr } = await agentos([], { cwd: await testFolder() });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('Usage: agentos');
});

test('--version is the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
  const ended = await agentos(['--version'], { cwd: await testFolder() });
  expect(ended).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

/** A file of the built program with all that it imports before anything runs; of `follow` what it loads by name, too. */
function loadedBy(entry: string, follow: RegExp = /$^/): Map<string, string> {
  const seen = new Map<string, string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    const text = readFileSync(file, 'utf8');
    seen.set(file, text);
    for (const [found, path = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?["'](\.{1,2}\/[\w./-]+\.js)["']/g)) {
      if (!found.includes('(') || follow.test(path)) visit(join(dirname(file), path));
    }
  };
  visit(join(PROJECT, 'dist', entry));
  return seen;
}

test('what --version loads holds no library but the parser of the command line', () => {
  const seen = loadedBy('cli.js', /\/cli-run-\w+\.js$/);
  const all = [...seen.values()].join('\n');
  expect(seen.size).toBeGreaterThan(1);
  expect(all).toContain('commander.unknownOption');
  for (const mark of ['ZodError', 'YAMLParseError', 'AI_APICallError', 'micromark']) expect(all).not.toContain(mark);
  expect(all.length).toBeLessThan(250_000);
});

test.each(['check', 'batch'])('%s loads libraries only when it uses them', (command) => {
  const all = [...loadedBy(`commands/${command}.js`).values()].join('\n');
  expect(all).toContain('getBuiltinModule');
  // Each would cost tens of milliseconds at every start.
  for (const mark of ['ZodError', 'AI_APICallError', 'http2', 'from"node:'])
    expect(all.includes(mark), mark).toBe(false);
});

const LONG = 'x'.repeat(65);
const NASTY = 'a\nb\u001B[31mc';
const DURATION = /Write a duration such as 90s, 30m or 2h/;
const EITHER = 'Either agentos lld 42 57, or agentos lld --all';
const ID = /^Ids are 1 to 64 letters, digits, hyphens and underscores/;

const mistakes: [args: string[], what: string | RegExp, todo: string | RegExp][] = [
  [['ldl'], "Unknown command 'ldl'.", 'Did you mean lld?'],
  [['nonsense'], "Unknown command 'nonsense'.", 'See: agentos --help'],
  [[NASTY], "Unknown command 'a bc'.", 'See: agentos --help'],
  [['help', 'impl'], "Unknown command 'impl'.", 'Did you mean implement?'],
  [['help', 'chek'], "Unknown command 'chek'.", 'Did you mean check?'],
  [['--nonsense'], "Unknown option '--nonsense'.", 'See: agentos --help'],
  [['lld', '--al'], "Unknown option '--al'.", 'Did you mean --all?'],
  [['lld', `--${NASTY}`], "Unknown option '--a bc'.", 'See: agentos lld --help'],
  [['logs'], "Missing required argument 'id'.", 'See: agentos logs --help'],
  [['check'], "Missing required argument 'files'.", 'See: agentos check --help'],
  [['status', 'a', 'b'], /Too many arguments/, 'See: agentos status --help'],
  [['demo', 'x'], /Too many arguments/, 'See: agentos demo --help'],
  [['completion', 'tcsh'], "'tcsh' is invalid", /bash, zsh, fish/],
  [['lld'], 'Which items?', EITHER],
  [['lld', '137', '--all'], 'Ids and --all exclude each other.', EITHER],
  [['lld', '--ids', '137', '--all'], 'Ids and --all exclude each other.', EITHER],
  [['lld', '../137'], '"../137" is not a valid id.', ID],
  [['lld', 'a b'], '"a b" is not a valid id.', ID],
  [['lld', 'ü'], '"ü" is not a valid id.', ID],
  [['lld', LONG], `"${LONG}" is not a valid id.`, ID],
  [['lld', NASTY], '"a\\nb\\u001b[31mc" is not a valid id.', ID],
  [['lld', '--ids', '137', '../x'], '"../x" is not a valid id.', ID],
  [['logs', '../137'], '"../137" is not a valid id.', ID],
  [['lld', '137', '--parallel', '0'], '--parallel takes a whole number above 0, not "0".', '--parallel 3'],
  [['lld', '137', '--parallel', '-1'], 'not "-1".', '--parallel 3'],
  [['lld', '137', '--parallel', 'x'], 'not "x".', '--parallel 3'],
  [['lld', '137', '--parallel', '2.5'], 'not "2.5".', '--parallel 3'],
  [['lld', '137', '--halt', '0'], '--halt takes a whole number above 0, not "0".', '--halt 3'],
  [
    ['lld', '--parallel', '137', '142', '--offline'],
    '--parallel 137 would mean 137 workers, but 137 is an item.',
    'agentos lld 137 142 --parallel 3',
  ],
  [['lld', '--parallel', '137'], 'Which items?', /Items come first: agentos lld 137 --parallel 3/],
  [['lld', '137', '--timeout', '5'], "argument '5' is invalid.", DURATION],
  [['lld', '137', '--timeout', NASTY], "argument 'a bc' is invalid.", DURATION],
  [['lld', '137', '--idle-timeout', '30d'], "argument '30d' is invalid.", DURATION],
  [['lld', '137', '--max-rounds', '0'], "argument '0' is invalid.", 'Write a whole number from 1 to 20.'],
  [['lld', '137', '--max-retries', '-1'], "argument '-1' is invalid.", 'Write a whole number from 0 to 20.'],
  [['lld', '137', '--max-cost', '0'], "argument '0' is invalid.", 'Write an amount in USD above zero'],
  [['lld', '137', '--quiet', '--verbose'], '--quiet and --verbose exclude each other.', 'Remove one of them.'],
  [['lld', '137', '--offline', '--drafter', 'openai:x'], '--offline plays the recorded tour', 'Remove --offline'],
  [['lld', '137', '--drafter', 'nonsense'], '"nonsense" is not a model', 'Write provider:model'],
  [['lld', '137', '--drafter', 'anthropci:x'], 'did you mean anthropic:x?', 'Write provider:model'],
  [['lld', '137', '--drafter', NASTY], /is not a model/, 'Write provider:model'],
  [['lld', '138', '--offline'], /There is no issue 138: .*issues\/138\.md does not exist\./, 'Did you mean 137?'],
  [['lld', 'zzz', '--offline'], 'There is no issue zzz', 'agentos lld --all'],
  [['status', 'nope'], 'There is no run nope.', 'agentos status lists the runs'],
  [['status', NASTY], 'There is no run a\\nb\\u001b[31mc.', 'agentos status lists the runs'],
  [['resume'], 'There is no run to resume.', 'agentos lld --all starts one'],
  [['resume', 'nope'], 'There is no run nope.', 'agentos status lists the runs'],
  [['logs', '137'], 'There is no log of 137.', 'agentos status lists what was run.'],
  [['lld', '137', '--repo', '/nonexistent'], '/nonexistent is not inside a git repository.', '--repo <dir>'],
  [['lld', '137', '--repo', 'issues/137.md'], /issues\/137\.md is not inside a git repository\./, '--repo <dir>'],
  [['lld', '137', '--source', 'gitlab:acme/widget'], 'There is no token for GitLab.', 'Set GITLAB_TOKEN'],
];

test('every bad input is one line that says what is wrong and one that says what to do, and touches nothing', async () => {
  const repository = await testRepository({ 137: ISSUE, 142: ISSUE });
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const before = await treeOf(dirname(repository.root));
  for (let at = 0; at < mistakes.length; at += 8) {
    const some = mistakes.slice(at, at + 8);
    const ends = await Promise.all(some.map(([args]) => agentos(args, options)));
    for (const [index, ended] of ends.entries()) {
      const [, what = '', todo = ''] = some[index] ?? [];
      expectRefusal(ended, what, todo);
    }
  }
  expect(await treeOf(dirname(repository.root))).toEqual(before);
});

test('a key that stands in a bad flag is not printed', async () => {
  const key = 'sk-ant-0123456789abcdef';
  const ended = await agentos(['lld', '1', '--timeout', key], {
    cwd: await testFolder(),
    env: { ANTHROPIC_API_KEY: key },
  });
  expectRefusal(ended, 'is invalid', DURATION);
  expect(ended.stderr).not.toContain(key);
});
