import { appendFile, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromiumPath, launchBrowser, NO_CHROMIUM } from '../support/browser.ts';
import { type Dashboard, startDashboard } from '../support/dashboard.ts';
import { removeWorkFolders } from '../support/folder.ts';
import { ISSUE, lldFor, review } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import { repositoryIn, type TestRepository } from '../support/repository.ts';
import { type ScriptedModels, scriptedModels } from '../support/scripted-models.ts';

const HOSTILE =
  '<img src=x onerror="window.pwned=1"> [click](javascript:window.pwned=1) </script><script>window.pwned=1</script>';
const SECRET = 'sk-ant-never-show-this-0123456789';
const TOKEN = 'ghp_never-show-this-either-0123456789';

let folder: string;
let repository: TestRepository;
let models: ScriptedModels;
let dashboard: Dashboard;
let runId: string;

const options = () => ({ cwd: repository.root, env: { HOME: repository.home } });

/** 1 is approved; 2 waits with a question; 3 does too, and all that models and people wrote for it is hostile. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentos ui-ü '));
  const labels = '---\nlabels: [api, "<b>bold</b>"]\n---\n';
  const hostileIssue = ISSUE.replace('# Add a number', `# Add <script>window.pwned=1</script> & "quotes" ${HOSTILE}`);
  repository = await repositoryIn(folder, { 1: labels + ISSUE, 2: ISSUE, 3: hostileIssue, 4: ISSUE, 5: ISSUE });
  models = await scriptedModels(repository);
  const asks = (question: string): string => review({ verdict: 'DISCUSS', questions: [question] });
  await models.answer('review-lld', '2', asks('Who keeps `the numbers`?'));
  await models.answer('lld', '3', lldFor('3').replace('A pure function, no state.', `A pure function. ${HOSTILE}`));
  await models.answer('review-lld', '3', asks(`Is this fine? ${HOSTILE}`));
  await agentos(['lld', '--ids', '1', '2', '3', '--parallel', '2', ...models.flags], options());
  [runId = ''] = await readdir(join(repository.root, '.agentos/runs'));
  // What a log and a draft must not show, wherever it came from; and a log that leads elsewhere.
  const run = join(repository.root, '.agentos/runs', runId);
  await appendFile(join(run, 'logs/lld-2.log'), `2026-01-01T00:00:00.000Z the key is ${SECRET} ${HOSTILE}\n`);
  await appendFile(join(repository.root, 'docs/lineage/2/002-draft.md'), `\nA token: ${TOKEN}\n`);
  await symlink('/etc/passwd', join(run, 'logs/lld-9.log'));
  dashboard = await startDashboard(repository, { env: { ANTHROPIC_API_KEY: SECRET, GITHUB_TOKEN: TOKEN } });
});

afterAll(async () => {
  await dashboard?.close();
  await removeWorkFolders(folder);
  await rm(folder, { recursive: true, force: true });
});

describe('the server', () => {
  test('says nothing to those who did not sign in, are from elsewhere, or want what is not theirs', async () => {
    const { port } = dashboard;
    const ask: Dashboard['ask'] = (path, asked) => dashboard.ask(path, asked);
    const cookie = await dashboard.signIn();
    const origin = `http://127.0.0.1:${port}`;
    const json = { origin, cookie, 'content-type': 'application/json' };
    const post = (path: string, headers: Record<string, string>, body = '{}') =>
      ask(path, { method: 'POST', headers, body });
    expect(await ask('/api/overview')).toMatchObject({ status: 401 });
    expect(await ask('/api/overview', { headers: { cookie: 'agentos-ui=x' } })).toMatchObject({ status: 401 });
    expect(await ask('/api/overview', { headers: { cookie } })).toMatchObject({ status: 200 });
    expect(await ask('/api/overview', { headers: { cookie, host: `evil.example:${port}` } })).toMatchObject({
      status: 403,
    });
    expect(await ask('/api/overview', { headers: { cookie, 'sec-fetch-site': 'cross-site' } })).toMatchObject({
      status: 403,
    });
    expect(await ask('/api/inbox', { headers: { cookie, origin: 'https://evil.example' } })).toMatchObject({
      status: 403,
    });
    const stop = JSON.stringify({ runId });
    expect(await post('/api/stop', { ...json, origin: 'https://evil.example' }, stop)).toMatchObject({ status: 403 });
    expect(await post('/api/stop', { cookie, 'content-type': 'application/json' }, stop)).toMatchObject({
      status: 403,
    });
    expect(await post('/api/stop', { cookie, origin, 'content-type': 'text/plain' }, stop)).toMatchObject({
      status: 409,
    });
    expect(await post('/api/stop', { origin, 'content-type': 'application/json' }, stop)).toMatchObject({
      status: 401,
    });
    expect(await post('/api/session', json, '{"token":"another-token-0123"}')).toMatchObject({ status: 401 });
    expect(await post('/api/decide', json, `{"id":"../../x","workflow":"lld"}`)).toMatchObject({ status: 409 });
    expect(await post('/api/stop', json, `{"pad":"${'x'.repeat(70_000)}"}`)).toMatchObject({ status: 409 });
    for (const path of [
      '/api/run/..%2f..%2fetc',
      '/api/run/../../agentos.yaml',
      '/api/item/..',
      '/api/item/%2e%2e%2fsecret',
      '/api/question/lld/..',
      `/api/transcript/${runId}/lld/..%2f..%2fx/0`,
      '/../package.json',
      '/app.js/../../package.json',
    ])
      expect((await ask(path, { headers: { cookie } })).status, path).toBeGreaterThanOrEqual(400);
    const page = await ask('/');
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
    expect(page.headers['content-security-policy']).not.toMatch(/unsafe|\*|data:/);
    expect(page.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  });

  test('shows no secret, and no log that leads out of the run', async () => {
    const cookie = await dashboard.signIn();
    const read = async (path: string): Promise<string> =>
      (await dashboard.ask(`/api/${path}`, { headers: { cookie } })).text;
    const answers = await Promise.all(
      ['overview', 'inbox', 'board', 'money', `run/${runId}`, 'item/2', 'question/lld/2'].map(read),
    );
    expect(answers.join('')).toContain('A token: ********');
    for (const secret of [SECRET, TOKEN]) expect(answers.join('')).not.toContain(secret);
    const followed = async (which: string): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${dashboard.port}/api/live?log=${runId}/${which}`, {
        headers: { cookie },
      });
      let text = '';
      for await (const piece of response.body ?? []) {
        text += new TextDecoder().decode(piece);
        // What is written first follows at once: the log, or only what is held.
        if (text.includes('event: log') || text.includes('event: held')) break;
      }
      return text;
    };
    const log = await followed('lld/2');
    expect(log).not.toContain(SECRET);
    expect(await followed('lld/9')).not.toContain('root:');
  });

  test('refuses to be reached from the network without a token, and to act when it is read-only', async () => {
    const open = await agentos(['ui', '--host', '0.0.0.0'], options());
    expect(open).toMatchObject({ code: 2, stdout: '' });
    expect(open.stderr).toContain('--token');
    for (const wrong of [
      ['ui', '--token', 'short'],
      ['report', 'no-such-run'],
      ['status', 'no-such-run', '--watch'],
    ])
      expect(await agentos(wrong, options())).toMatchObject({ code: 2, stdout: '' });
    const readOnly = await startDashboard(repository, { flags: ['--read-only'] });
    const headers = {
      cookie: await readOnly.signIn(),
      origin: `http://127.0.0.1:${readOnly.port}`,
      'content-type': 'application/json',
    };
    const decision = JSON.stringify({ id: '2', workflow: 'lld', kind: 'drop', reason: '', change: '' });
    for (const name of ['decide', 'undo', 'stop', 'cancel', 'retry', 'plan', 'start'])
      expect(await readOnly.ask(`/api/${name}`, { method: 'POST', headers, body: decision })).toMatchObject({
        status: 403,
      });
    expect((await readOnly.ask('/api/overview', { headers })).text).toContain('"readOnly":true');
    await readOnly.close();
    expect(await readOnly.program.ended).toMatchObject({ code: 130, stderr: '' });
  });
});

const axeSource = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe.skipIf(chromiumPath === null)(`the pages${NO_CHROMIUM}`, () => {
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
    // The tests' own script for accessibility is the one thing that the policy would keep out.
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    page = await context.newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 40\d/.test(message.text())) problems.push(message.text());
    });
    await page.goto(dashboard.url);
    await page.waitForSelector('.inbox-row');
  });

  afterAll(async () => {
    await browser?.close();
  });

  const open = async (hash: string, selector: string): Promise<void> => {
    await page.evaluate((next) => void (location.hash = next), hash);
    await page.waitForSelector(selector);
  };
  const text = async (selector: string): Promise<string> => (await page.textContent(selector)) ?? '';

  test('the token leaves the address, and the inbox comes first: what is asked, the draft and the review', async () => {
    expect(page.url()).not.toContain('token');
    expect(await page.title()).toBe('agentos');
    expect(await text('.inbox-list')).toContain('2 items wait for you');
    expect(await text('.asked')).toContain('Who keeps the numbers?');
    await page.waitForSelector('.side .prose');
    expect(await text('.sides')).toMatch(/LLD-2|Bounded|number/);
    expect(await text('.sides')).toContain('DISCUSS');
  });

  test('keys move through the inbox, ask for a reason, and undo a decision before it is recorded', async () => {
    await page.keyboard.press('j');
    await page.waitForFunction(() => location.hash.endsWith('/lld/3'));
    await page.keyboard.press('k');
    await page.waitForFunction(() => location.hash.endsWith('/lld/2'));
    await page.keyboard.press('a');
    await page.waitForSelector('dialog.decide[open]');
    // The question has to be answered.
    await page.keyboard.press('Control+Enter');
    expect(await page.isVisible('dialog.decide[open]')).toBe(true);
    await page.keyboard.type('The application does.');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.held .toast');
    expect(await text('.held')).toMatch(/Approve 2, as .*: recorded in \d+ s/);
    expect(await repository.list('docs/lineage/2')).toEqual(['001-issue.md', '002-draft.md', '003-verdict.md']);
    await page.keyboard.press('u');
    await page.waitForSelector('.held', { state: 'detached' });
    await page.waitForSelector('.toast:has-text("undone")');
    // Several at once.
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.keyboard.press('d');
    await page.waitForSelector('dialog.decide[open]');
    expect(await text('dialog.decide h2')).toContain('2, 3');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await repository.list('docs/lineage/2')).toHaveLength(3);
  });

  test('a run shows its counts, its lanes and its items; an item its story; the board where all stand; money what was paid', async () => {
    await open(`#/run/${runId}`, '.timeline .bar');
    expect(await text('.figures')).toMatch(/Done3 of 3/);
    expect(await text('.progress')).toMatch(/1 done.*2 need you/);
    expect(await page.locator('.timeline .lane-name').allTextContents()).toEqual(['worker 1', 'worker 2']);
    await page.keyboard.press('+');
    expect(await page.isEnabled('text=Whole run')).toBe(true);
    await page.keyboard.press('0');
    await page.fill('input[type=search]', 'quotes');
    await page.waitForFunction(() => document.querySelectorAll('.item-row').length === 1);
    await open('#/item/1', '.chapter');
    const titles = await page.locator('.chapter-title').allTextContents();
    expect(titles).toEqual([
      'Issue',
      'What the models were shown',
      'Draft 1',
      'Review 1',
      'Approved',
      'Findings over the rounds',
    ]);
    await page.click('#lld-v2 button');
    expect(await text('#lld-v2 .prose')).toContain('Requirement');
    await page.click('#context button');
    await page.waitForSelector('#context td code');
    await page.waitForSelector('.log code');
    expect(await text('.log-card')).toContain('review 1: APPROVED');
    await open('#/board', '.tile');
    const column = (name: string) => page.locator(`section.column[aria-label="${name}"] .tile b`).allTextContents();
    expect([await column('To design'), await column('Needs you'), await column('To implement')]).toEqual([
      ['4', '5'],
      ['2', '3'],
      ['1'],
    ]);
    await page.keyboard.press('/');
    await page.keyboard.type('quotes');
    await page.waitForFunction(() => document.querySelectorAll('.tile').length === 1);
    await page.fill('input[type=search]', '');
    await page.check('text=Group by label');
    expect(await page.locator('.group').allTextContents()).toContain('<b>bold</b>');
    await open('#/money', '.shares');
    expect(await text('.money')).toContain('By role');
  });

  test('hostile Markdown, titles and log lines are text, on every page and in the report', async () => {
    await open('#/inbox/lld/3', '.side .prose');
    expect(await text('.sides')).toContain('onerror="window.pwned=1"');
    await open('#/item/3', '.chapter');
    await unfold(page);
    await page.waitForSelector('.log code');
    const links = await page.locator('main a').evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
    expect(links.filter((href) => /^javascript|^data/i.test(href))).toEqual([]);
    expect(await page.locator('main img, main script, main iframe').count()).toBe(0);
    const report = await agentos(['report', '--output', 'report.html'], options());
    expect(report).toMatchObject({ code: 0, stdout: 'report.html\n', stderr: '' });
    const comment = await agentos(['report', runId, '--format', 'md'], options());
    expect(comment.stdout).toMatch(/^## agentos lld: 1 succeeded, 2 discuss\n/);
    expect(comment.stdout).toContain('### Needs a person');
    expect(comment.stdout).not.toMatch(/(?<!\\)<(?:img|script)/);
    const file = await page.context().newPage();
    const asked: string[] = [];
    file.on('request', (request) => asked.push(request.url()));
    file.on('pageerror', (error) => problems.push(error.message));
    const url = pathToFileURL(join(repository.root, 'report.html')).href;
    await file.goto(`${url}#/item/3`);
    await file.waitForSelector('.chapter');
    await unfold(file);
    await file.evaluate(() => void (location.hash = '#/inbox/lld/3'));
    await file.waitForSelector('.side .prose');
    expect(await file.isVisible('.buttons')).toBe(false);
    await file.evaluate(() => void (location.hash = '#/run'));
    await file.waitForSelector('.timeline .bar');
    for (const one of [page, file]) expect(await one.evaluate(() => 'pwned' in window)).toBe(false);
    expect(asked.every((one) => one.startsWith(url))).toBe(true);
    await file.close();
  });

  test('a run in another terminal is followed as it goes; one of its items is cancelled, and the run is stopped', async () => {
    await models.hold('review-lld', '4');
    await models.hold('lld', '5');
    const other = startAgentos(['lld', '--ids', '4', '5', '--parallel', '2', ...models.flags], options());
    await open('#/run', '.run');
    // The list of runs knows it first.
    await page.waitForFunction(
      (old) => !document.querySelector('.runs li a')?.getAttribute('href')?.includes(old),
      runId,
    );
    await page.click('.runs li a');
    await page.waitForSelector('.item-row:has-text("review-1")');
    expect(await text('.page-head')).toContain('running');
    await page.click('[aria-label="Cancel 5"]');
    await page.waitForSelector('.item-row:has-text("cancelled")');
    await models.release('review-lld', '4');
    await page.waitForSelector('.item-row:has-text("docs/lld/LLD-4.md")');
    await page.waitForSelector('.page-head .status:has-text("failed")');
    const ended = await other.ended;
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('[LLD-5] cancelled: Cancelled by');
    const third = startAgentos(['lld', '5', ...models.flags], options());
    await third.printed('asked for lld 5');
    await page.waitForFunction(() => document.querySelectorAll('.runs li').length === 3);
    await page.click('.runs li a');
    await page.click('text=Stop the run');
    expect(await third.ended).toMatchObject({ code: 130 });
    await page.waitForSelector('.page-head .status:has-text("interrupted")');
    await models.release('lld', '5');
  });

  test('a batch is started after its plan was seen, and outlives the dashboard; what is held then is recorded', async () => {
    const own = await startDashboard(repository);
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const other = await context.newPage();
    await other.goto(own.url);
    await other.waitForSelector('.inbox-row');
    await other.keyboard.press('n');
    await other.fill('[name=ids]', '5');
    await other.check('[name=offline]');
    await other.click('text=Show the plan');
    await other.waitForSelector('.plan');
    expect(await other.textContent('.plan')).toContain('1 item');
    await other.click('.plan .primary');
    await other.waitForFunction(() => location.hash.startsWith('#/run/'));
    const begun = await other.evaluate(() => location.hash.slice('#/run/'.length));
    await other.evaluate(() => void (location.hash = '#/inbox/lld/2'));
    await other.waitForSelector('.question.chosen .buttons');
    await other.keyboard.press('d');
    await other.waitForSelector('dialog.decide[open]');
    await other.keyboard.type('Not needed.');
    await other.keyboard.press('Control+Enter');
    await other.waitForSelector('.held .toast');
    await own.close();
    expect(await repository.list('docs/lineage/2')).toContain('004-verdict.md');
    expect(await repository.read('docs/lineage/2/004-verdict.md')).toContain('Not needed.');
    const summary = (): Promise<string> => repository.read(`.agentos/runs/${begun}/summary.json`).catch(() => '');
    await expect.poll(summary, { timeout: 15_000 }).toContain('"discuss"');
    await context.close();
  });

  test('nothing serious is wrong for those who can’t see or point, in the light and in the dark, and nothing is wider than a phone', async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, bypassCSP: true });
    const looked = await context.newPage();
    await looked.goto(dashboard.url);
    await looked.waitForSelector('.shell');
    await looked.evaluate(await axeSource);
    const pages = [
      ['inbox', '.inbox-row'],
      [`run/${runId}`, '.item-row'],
      ['item/2', '.chapter'],
      ['board', '.tile'],
      ['money', '.shares'],
    ];
    for (const scheme of ['light', 'dark'] as const) {
      await looked.emulateMedia({ colorScheme: scheme });
      for (const [hash = '', selector = ''] of pages) {
        await looked.evaluate((next) => void (location.hash = `#/${next}`), hash);
        await looked.waitForSelector(selector);
        const found = await looked.evaluate(audit, scheme === 'dark');
        expect(
          found.filter(({ impact }) => impact === 'serious' || impact === 'critical'),
          `${hash} ${scheme}`,
        ).toEqual([]);
      }
    }
    await looked.setViewportSize({ width: 390, height: 844 });
    for (const [hash = '', selector = ''] of [...pages, ['inbox/lld/3', '.question.chosen']]) {
      await looked.evaluate((next) => void (location.hash = `#/${next}`), hash);
      await looked.waitForSelector(selector);
      expect(await looked.evaluate(() => document.documentElement.scrollWidth), hash).toBeLessThanOrEqual(390);
    }
    await context.close();
  });

  test('until here no page failed, and none did anything that its policy forbids', () => {
    expect(problems).toEqual([]);
  });
});

/** In the page, by axe: what it finds. The dark differs in its colours alone. */
async function audit(coloursOnly: boolean): Promise<{ id: string; impact: string; where: string[] }[]> {
  const { axe } = window as unknown as { axe: { run: (options: unknown) => Promise<{ violations: Violation[] }> } };
  const { violations } = await axe.run({
    resultTypes: ['violations'],
    ...(coloursOnly ? { runOnly: ['color-contrast'] } : {}),
  });
  return violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.map(({ html }) => html).slice(0, 3) }));
}

async function unfold(page: Page): Promise<void> {
  const folded = page.locator('button.chapter-head[aria-expanded=false]');
  while ((await folded.count()) > 0) await folded.first().click();
}

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}
