import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { chromiumPath, launchBrowser } from '../test/support/browser.ts';
import { writePastRun } from '../test/support/past-run.ts';
import { withFolder } from './support/folder.ts';
import { createRepository } from './support/repository.ts';
import { type BenchRow, below, inMs, median, shown } from './support/row.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PROGRAM = join(ROOT, 'bin', 'agentos');
const ITEMS = 1_000;
const EVENTS_PER_ITEM = 52;
const LOADS = 5;
const ROWS = 10_000;

interface Ui {
  url: string;
  child: ChildProcess;
}

/** The pages of a run of 1,000 items with 50,000 events, in the system's Chromium, and its report. */
export async function uiBench(): Promise<BenchRow[]> {
  const assets = await Promise.all(['app.js', 'app.css'].map((name) => readFile(join(ROOT, 'dist/ui', name))));
  const bytes = assets.reduce((sum, asset) => sum + gzipSync(asset).byteLength, 0);
  const page = below('the page, gzipped', bytes, 150_000, (value) => `${Math.round(value / 1_000)} KB`);
  return withFolder(async (folder) => {
    const root = join(folder, 'repository');
    const base = join(root, '.agentos');
    const issues = Array.from({ length: ITEMS }, (_, index): [string, string] => [
      String(index + 1),
      `# Issue ${index + 1}\n\nPlease.\n`,
    ]);
    await createRepository(root, issues);
    await mkdir(base);
    await writeFile(join(base, '.gitignore'), '*\n');
    const runId = await writePastRun(base, { items: ITEMS, eventsPerItem: EVENTS_PER_ITEM });
    const rows = [page, ...(await reportRows(root, runId))];
    if (chromiumPath === null) return [...rows, shown('the pages', 'no Chromium')];
    const browser = await launchBrowser();
    try {
      return [...rows, ...(await pageRows(browser, root, base, runId))];
    } finally {
      await browser.close();
    }
  });
}

async function reportRows(root: string, runId: string): Promise<BenchRow[]> {
  const times: number[] = [];
  for (let run = 0; run < 3; run++) {
    const began = performance.now();
    const child = spawn(PROGRAM, ['report'], { cwd: root, env: environment(root), stdio: 'ignore' });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`agentos report ended with ${String(code)}`);
    times.push(performance.now() - began);
  }
  const { size } = await stat(join(root, '.agentos/runs', runId, 'report.html'));
  return [
    below('agentos report, 1,000 items', median(times), 5_000, inMs),
    below('  its size', size, 10e6, (value) => `${(value / 1e6).toFixed(1)} MB`),
  ];
}

async function pageRows(browser: Browser, root: string, base: string, runId: string): Promise<BenchRow[]> {
  const ui = await startUi(root);
  try {
    const paints: number[] = [];
    const drawn: number[] = [];
    for (let load = 0; load < LOADS; load++) {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await signIn(page, ui);
      await page.goto(`${new URL(ui.url).origin}/#/run/${runId}`);
      await page.reload();
      await page.waitForSelector('.item-row');
      const { paint, data } = await page.evaluate(() => ({
        paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
        data: performance.now(),
      }));
      paints.push(paint);
      drawn.push(data);
      await page.close();
    }
    const first = below('first contentful paint, 1,000 items, 50,000 events', median(paints), 500, inMs);
    const all = shown('  all of its page drawn', inMs(median(drawn)));
    return [
      first,
      all,
      await latencyRow(browser, ui, base),
      ...(await scrollRows(browser, ui, base)),
      await processorRow(browser, ui, base),
    ];
  } finally {
    ui.child.kill('SIGINT');
    await once(ui.child, 'close');
  }
}

/** What is used of a page, without the types of all browsers. */
interface Browsing {
  document: { querySelectorAll(selector: string): Iterable<{ textContent: string | null }> };
}

/** In the page: no count says this any more. */
function isGone(text: string | null): boolean {
  const counts = (globalThis as unknown as Browsing).document.querySelectorAll('.progress li');
  return ![...counts].some((one) => one.textContent === text);
}

/** From the line in the run's file to the text on the page. */
async function latencyRow(browser: Browser, ui: Ui, base: string): Promise<BenchRow> {
  const runId = await writePastRun(base, {
    items: ITEMS,
    eventsPerItem: EVENTS_PER_ITEM,
    endedItems: ITEMS / 2,
    startedAt: Date.now() - 3_600_000,
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, ui);
  await page.goto(`${new URL(ui.url).origin}/#/run/${runId}`);
  await page.waitForSelector('.item-row');
  const delays: number[] = [];
  for (let line = 0; line < 20; line++) {
    const id = String(ITEMS / 2 + 100 + line);
    const event = {
      at: new Date().toISOString(),
      item: id,
      workflow: 'lld',
      type: 'item-finished',
      status: 'failed',
      attempts: 1,
      durationMs: 1,
      reason: null,
      error: null,
      outputs: [],
    };
    const before = await page.textContent('.progress li:has-text("failed")');
    const seen = page.waitForFunction(isGone, before, { polling: 'raf' });
    const began = performance.now();
    await appendFile(join(base, 'runs', runId, 'events.jsonl'), `${JSON.stringify(event)}\n`);
    await seen;
    delays.push(performance.now() - began);
  }
  await page.close();
  return below('an event is on the page after, median of 20', median(delays), 250, inMs);
}

const SCROLL_SECONDS = 3;

/** In the page: how many frames there are in a second while the list is scrolled. */
const SCROLL = `new Promise((resolve) => {
  const list = document.querySelector('.items');
  list.scrollIntoView();
  const frames = [];
  const began = performance.now();
  const frame = (now) => {
    frames.push(now);
    list.scrollTop += 160;
    if (now - began < ${SCROLL_SECONDS * 1_000}) requestAnimationFrame(frame);
    else resolve(((frames.length - 1) * 1000) / (frames.at(-1) - frames[0]));
  };
  requestAnimationFrame(frame);
})`;

async function scrollRows(browser: Browser, ui: Ui, base: string): Promise<BenchRow[]> {
  const runId = await writePastRun(base, { items: ROWS, startedAt: Date.parse('2026-11-15T08:00:00Z') });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, ui);
  await page.goto(`${new URL(ui.url).origin}/#/run/${runId}`);
  await page.waitForSelector('.items .item-row');
  const work = await page.context().newCDPSession(page);
  await work.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busyMs = async (): Promise<number> => {
    const { metrics } = await work.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
  };
  const before = await busyMs();
  const perSecond = await page.evaluate<number>(SCROLL);
  const perFrameMs = ((await busyMs()) - before) / (perSecond * SCROLL_SECONDS);
  await page.close();
  const value = `${perSecond.toFixed(0)} / s`;
  return [
    { name: 'frames while 10,000 rows scroll', value, target: '≥ 50 / s', ok: perSecond >= 50 },
    below('  processor time of the page for each of them', perFrameMs, 20, inMs),
  ];
}

/** What the server takes of a processor while a page follows a run with many events. */
async function processorRow(browser: Browser, ui: Ui, base: string): Promise<BenchRow> {
  const runId = await writePastRun(base, { items: ITEMS, endedItems: 1, startedAt: Date.now() - 60_000 });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await signIn(page, ui);
  await page.goto(`${new URL(ui.url).origin}/#/run/${runId}`);
  await page.waitForSelector('.item-row');
  const before = await ticksOf(ui.child.pid);
  const began = performance.now();
  // Ten workers make fewer than this.
  for (let second = 0; second < 10; second++) {
    const lines = Array.from({ length: 40 }, (_, line) =>
      JSON.stringify({
        at: new Date().toISOString(),
        item: String(2 + second),
        workflow: 'lld',
        type: line % 4 === 0 ? 'notice' : 'output-line',
        stream: 'stdout',
        line: 'what a program prints',
        text: 'x',
      }),
    );
    await appendFile(join(base, 'runs', runId, 'events.jsonl'), `${lines.join('\n')}\n`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  const usedMs = ((await ticksOf(ui.child.pid)) - before) * 10;
  await page.close();
  return below(
    'processor time of the server while a run is followed',
    (usedMs / (performance.now() - began)) * 100,
    2,
    (value) => `${value.toFixed(1)} %`,
  );
}

async function ticksOf(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

async function signIn(page: Page, { url }: Ui): Promise<void> {
  await page.goto(url);
  await page.waitForSelector('.shell');
}

function environment(home: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home };
}

async function startUi(root: string): Promise<Ui> {
  const child = spawn(PROGRAM, ['ui', '--port', '0'], {
    cwd: root,
    env: environment(root),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const piece of child.stdout) {
    printed += String(piece);
    const url = /http:\S+/.exec(printed)?.[0];
    if (url !== undefined && printed.includes('Ctrl+C')) return { url, child };
  }
  throw new Error('the dashboard did not start');
}
