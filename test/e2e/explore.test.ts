import { once } from 'node:events';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createExplore, type ExploreOptions } from '../../src/agent/explore.ts';
import { systemClock } from '../../src/core/clock.ts';
import { parseModelSpec, type VendorSpec } from '../../src/core/model-spec.ts';
import { createGit } from '../../src/git/git.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { createVendorProvider } from '../../src/models/vendor.ts';
import type { ModelCall } from '../../src/workflow/item.ts';
import { throughGateway } from '../support/gateway.ts';
import type { Call } from '../support/model-with-tools.ts';
import { ISSUE, lldFor, review, roundOf, script, taskOf, vendorEnv } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { testItem } from '../support/test-item.ts';
import { type Answer, startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
const SECRET = 'do-not-show-4711';
const calling = (...calls: [name: string, input: unknown][]): Answer => ({
  toolCalls: calls.map(([name, input]) => ({ name, input })),
});

/** A repository with what must be found and what must not be shown. */
async function exploredRepository(): Promise<TestRepository> {
  const repository = await testRepository({ 42: ISSUE });
  const files = {
    'lib/far/away/ticker.js': 'export class Ticker {\n  async tick(count) {\n    return count + 1;\n  }\n}\n',
    '.env': `TOKEN=${SECRET}\n`,
    'deploy/id_rsa': SECRET,
    'notes/key.txt': `-----BEGIN RSA PRIVATE KEY-----\n${SECRET}\n-----END RSA PRIVATE KEY-----\n`,
    'private/plan.md': SECRET,
  };
  for (const [path, text] of Object.entries(files)) await repository.write(path, text);
  await symlink('/etc/passwd', join(repository.root, 'outside.txt'));
  await symlink('.env', join(repository.root, 'inside.txt'));
  repository.git('add', '--all', '--force');
  repository.git('commit', '--quiet', '-m', 'Let it tick');
  await repository.write('agentos.yaml', 'context: { exclude: [private] }\n');
  await repository.write('uncommitted.js', `export const hidden = '${SECRET}';\n`);
  return repository;
}

interface Scene {
  vendor: Vendor;
  repository: TestRepository;
  options: { cwd: string; env: Record<string, string> };
}

async function scene(answer: NonNullable<VendorOptions['script']>): Promise<Scene> {
  const vendor = await startVendor({ script: answer });
  onTestFinished(() => vendor.close());
  const repository = await exploredRepository();
  return {
    vendor,
    repository,
    options: { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } },
  };
}

/** Whether the call forbids further tool calls, in whichever way its vendor says so. */
function isLast({ body }: Pick<Vendor['calls'][number], 'body'>): boolean {
  return /"(?:tool_choice|toolConfig)":(?:"none"|\{[^}]*"(?:none|NONE)")/.test(JSON.stringify(body));
}

const FORBIDDEN = [
  '.env',
  '../..',
  '../../etc/passwd',
  '/etc/passwd',
  '.git/config',
  '.GIT/config',
  'lib/../.git/HEAD',
  'deploy/id_rsa',
  'notes/key.txt',
  'private/plan.md',
  'outside.txt',
  'inside.txt',
  'uncommitted.js',
  'agentos.yaml',
];

test('drafter and reviewer look at the base commit, and at nothing else; the reviewer gets the draft after its diagnosis', async () => {
  const drafter: Answer[] = [
    calling(['find_symbol', { name: 'Ticker.tick' }], ['search', { text: 'o-not-sho' }], ['list', {}]),
    calling(...FORBIDDEN.map((path): [string, unknown] => ['read', { path }]), ['list', { path: '..' }]),
    calling(...FORBIDDEN.map((path): [string, unknown] => ['history', { path }]), [
      'search',
      { text: '=', path: '.env' },
    ]),
  ];
  const found = (call: Call): string => /^(\S+):2: /m.exec(call.toolResults[0]?.text ?? '')?.[1] ?? 'nothing';
  const { vendor, repository, options } = await scene((call) => {
    const looked = call.toolResults.length;
    if (taskOf(call) !== 'review') {
      const next = drafter[[0, 3, 18].indexOf(looked)];
      if (next !== undefined) return next;
      if (looked === 33) return calling(['read', { path: found(call) }], ['history', { path: found(call) }]);
      return {
        text: lldFor('42').replace(
          '| `src/item-42.js` | Add',
          `| \`${found(call)}\` | Modify | Ticks |\n| \`src/item-42.js\` | Add`,
        ),
      };
    }
    if (looked === 0) return calling(['read', { path: 'src/main.js' }]);
    return {
      text: call.text.includes('<draft>') ? review({ verdict: 'APPROVED' }) : 'It needs item42 in src/main.js:1.',
    };
  });

  const ended = await agentos(['lld', '42', '--json', ...MODELS], options);
  expect(ended.code, ended.stderr).toBe(0);
  // Its path is what a tool said.
  expect(await repository.read('docs/lld/LLD-42.md')).toContain('| `lib/far/away/ticker.js` | Modify');

  const drafts = vendor.calls.filter((call) => taskOf(call) !== 'review');
  const reviews = vendor.calls.filter((call) => taskOf(call) === 'review');
  expect(drafts).toHaveLength(5);
  const results = drafts.at(-1)?.toolResults.map(({ text }) => text) ?? [];
  const [symbol, nothing, listed, ...others] = results;
  expect(symbol).toBe('lib/far/away/ticker.js:2:   async tick(count) {');
  expect(nothing).toContain('No match');
  expect(listed?.split('\n')).toEqual([
    'inside.txt',
    'issues/42.md',
    'lib/far/away/ticker.js',
    'notes/key.txt',
    'outside.txt',
    'src/main.js',
    'test/main.test.js',
  ]);
  for (const refused of others.slice(0, 30)) expect(refused).toMatch(/^Not done: /);
  expect(others[30]).toContain('     1\texport class Ticker {');
  expect(others[31]).toMatch(/^[0-9a-f]{12} \d{4}-\d\d-\d\d Let it tick$/);
  expect(/do-not-show|root:x:|\[core\]/.exec(JSON.stringify(vendor.calls.map(({ body }) => body)))).toBeNull();

  // The draft is there at first, withheld while it looks, and there again for the review, which calls no tool.
  expect(reviews.map((call) => call.text.includes('<draft>'))).toEqual([true, false, true]);
  expect(reviews.map((call) => call.text.includes('Callers want a function'))).toEqual([true, true, true]);
  expect(reviews.map(isLast)).toEqual([false, false, true]);
  const [item] = JSON.parse(ended.stdout.trim().split('\n').at(-1) ?? '').items;
  expect(item.steps.map(({ name }: { name: string }) => name)).toEqual([
    'draft',
    'draft.2',
    'draft.3',
    'draft.4',
    'draft.5',
    'review-1',
    'review-1.2',
    'review-1.3',
  ]);
  expect(ended.stderr).toContain('[LLD-42] read lib/far/away/ticker.js 1–5');
  expect(ended.stderr).toContain('[LLD-42] It needs item42 in src/main.js:1.');
});

test('killed between two rounds, it resumes without paying for a finished one again; its bound of rounds holds', async () => {
  let stall: (() => void) | null = null;
  const reached = new Promise<void>((resolve) => {
    stall = resolve;
  });
  const { vendor, repository, options } = await scene((call) => {
    if (call.tools.length > 0 && !isLast(call)) {
      if (taskOf(call) === 'review' && call.toolResults.length === 1 && stall !== null) {
        stall();
        stall = null;
        return { text: 'Let me think about it.', stallAfterChars: 5 };
      }
      return calling(['read', { path: 'src/main.js' }]);
    }
    return script()(call);
  });
  await repository.write('agentos.yaml', 'explore: { maxRounds: 4 }\n');
  const started = startAgentos(['lld', '42', ...MODELS], options);
  await reached;
  started.child.kill('SIGKILL');
  await once(started.child, 'close');
  // Four calls for the draft; of the review, one is finished and the second was under way.
  expect(vendor.calls).toHaveLength(6);
  const again = await agentos(['lld', '42', ...MODELS], options);
  expect(again.code, again.stdout).toBe(0);
  expect(vendor.calls).toHaveLength(6 + 3);
  expect(vendor.calls.map(isLast).filter(Boolean)).toHaveLength(2);
  expect(vendor.calls.at(-1)?.text).toContain('<draft>');

  // Without tools: one call each, as for a model that calls none.
  await repository.write('agentos.yaml', 'explore: off\n');
  await repository.write('issues/43.md', ISSUE.replaceAll('42', '43'));
  expect((await agentos(['lld', '43', ...MODELS], options)).code).toBe(0);
  expect(vendor.calls.slice(9).map(({ tools }) => tools)).toEqual([[], []]);
});

test('a finding that cites what is not there is asked for again once; one without evidence is a suggestion', async () => {
  const { vendor, repository, options } = await scene(
    script({
      review: (call) => {
        if (roundOf(call) === 2) return review({ verdict: 'APPROVED' });
        const cited = call.text.includes('<your-review>') ? 'src/main.js:1' : 'src/gone.js:7';
        const findings = [`**Bound:** ${cited} names no largest value.`, '**Feeling:** this could be better.'];
        return review({ verdict: 'REVISE', tier2: findings });
      },
    }),
  );
  const ended = await agentos(['lld', '42', ...MODELS], options);
  expect(ended.code, ended.stdout).toBe(0);
  expect(vendor.calls.map((call) => [taskOf(call), roundOf(call)])).toEqual([
    ['draft', 1],
    ['review', 1],
    ['review', 1],
    ['revise', 1],
    ['review', 2],
  ]);
  expect(vendor.calls[2]?.text).toContain('cites what is not there: src/gone.js');
  expect(ended.stdout).toContain('without evidence, so a suggestion: Feeling: this could be better.');
  const ledger = vendor.calls[3]?.text ?? '';
  expect(ledger).toContain('| F1 | 2 | Architecture | open |');
  expect(ledger).toContain('| F2 | 3 (raised as 2, without evidence) | Architecture | open |');
  expect(await repository.read('docs/lineage/42/003-verdict.md')).toContain('src/main.js:1 names');
});

describe('a question to a vendor', () => {
  const SPECS = [
    'anthropic:claude-sonnet-4-5',
    'google:gemini-3-pro-preview',
    'openai:gpt-5',
    'openai-compatible:org/model:70b',
  ];

  async function asking(
    spec: string,
    answer: NonNullable<VendorOptions['script']>,
    bounds: Partial<ExploreOptions> = {},
  ) {
    const { vendor, repository } = await scene(answer);
    const journal = openSqliteJournal(join(repository.home, 'journal.db'), { clock: systemClock });
    onTestFinished(() => journal.close());
    const asked = parseModelSpec(spec) as VendorSpec;
    const { forget, ...access } = await throughGateway(vendor, asked);
    const provider = createVendorProvider({
      ...access,
      spec: asked,
      idleTimeoutMs: 20_000,
      ceilingMs: 60_000,
    });
    const lines: string[] = [];
    const git = createGit(repository.root, { PATH: process.env['PATH'] ?? '' });
    const explore = createExplore({ git, exclude: [], maxRounds: 25, maxTokens: 1e6, mask: (text) => text, ...bounds });
    const item = testItem({
      journal,
      provider: () => provider,
      explore,
      emit: (event) => {
        if (event.type === 'output-line') lines.push(event.line);
      },
    });
    const ask = (step: string, role: ModelCall['role']): Promise<string> =>
      item.ask({
        step,
        role,
        system: 'Be good.',
        repeating: ['The issue.'],
        parts: ['<draft>'],
        unusable: (text) => (text.includes('banner') ? 'it is a banner' : null),
        at: { tree: repository.git('rev-parse', 'HEAD^{tree}'), commit: repository.git('rev-parse', 'HEAD') },
        withholds: role === 'reviewer',
      });
    return { vendor, ask, lines, forget };
  }

  test.each(SPECS)('%s calls tools, and is held to its tokens', async (spec) => {
    const { vendor, ask } = await asking(
      spec,
      (call) =>
        isLast(call)
          ? { text: 'The review.' }
          : { ...calling(['read', { path: 'src/main.js' }]), usage: { input: 40_000, output: 10_000 } },
      { maxTokens: 100_000 },
    );
    expect(await ask('review-1', 'reviewer')).toBe('The review.');
    expect(vendor.calls.map((call) => call.text.includes('<draft>'))).toEqual([true, false, true]);
    const results = vendor.calls.at(-1)?.toolResults.map(({ text }) => text.includes('export const answer = 42;'));
    expect(results).toEqual([true, true]);
    // All of it again, from what was stored.
    expect(await ask('review-1', 'reviewer')).toBe('The review.');
    expect(vendor.calls).toHaveLength(3);
  });

  test.each(SPECS)('%s is asked once where it calls no tool, or takes none', async (spec) => {
    const plain = await asking(spec, () => ({ text: 'The document.' }));
    expect(await plain.ask('draft', 'drafter')).toBe('The document.');
    expect(plain.vendor.calls.map(({ tools }) => tools)).toEqual([
      ['list', 'read', 'search', 'find_symbol', 'history'],
    ]);

    const message = 'org/model:70b does not support tools';
    const { vendor, ask, lines } = await asking(spec, (call) =>
      call.tools.length > 0 ? { status: 400, type: 'invalid_request_error', message } : { text: 'The document.' },
    );
    expect(await ask('draft', 'drafter')).toBe('The document.');
    expect(await ask('review-1', 'reviewer')).toBe('The document.');
    // Refused once, and not tried again.
    expect(vendor.calls.map(({ tools }) => tools.length)).toEqual([5, 0, 0]);
    expect(lines).toEqual([`${spec} takes no tools: it is asked without them`]);
  });

  test('an answer that is none is not stored, after tools as before', async () => {
    let answers = 0;
    const { vendor, ask, forget } = await asking('google:gemini-3-pro-preview', (call) => {
      if (call.toolResults.length === 0) return calling(['list', {}]);
      answers += 1;
      return { text: answers === 1 ? 'A banner: upgrade now. banner' : 'The document.' };
    });
    await expect(ask('draft', 'drafter')).rejects.toMatchObject({ problem: { code: 'provider-bad-reply' } });
    forget();
    expect(await ask('draft', 'drafter')).toBe('The document.');
    expect(vendor.calls).toHaveLength(3);
  });
});
