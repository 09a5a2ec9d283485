// Takes the pictures of the dashboard in docs/images/ from the demo: `node_modules/.bin/node scripts/screenshots.mjs`, after a
// build. Needs Chromium.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../test/support/browser.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, 'bin', 'agentos');
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'screenshots-'));
const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8' };
const LARGEST_BYTES = 200_000;
const SIZE = { width: 1440, height: 860 };

/** Each: the page, what it waits for, what is done there, and how it is looked at. */
const PICTURES = [
  { name: 'ui-inbox', hash: '#/inbox', until: '.side .prose' },
  { name: 'ui-run', hash: '#/run', until: '.items .item-row' },
  {
    name: 'ui-item',
    hash: '#/item/7',
    until: '#implement-red-after-tests-1',
    scheme: 'dark',
    act: async (page) => {
      await page.click('#implement-red-after-tests-1 button');
      await page.click('#implement-committed-code button');
      await page.locator('#implement-red-after-tests-1').evaluate((element) => element.scrollIntoView());
    },
  },
  { name: 'ui-board', hash: '#/board', until: '.tile' },
  {
    name: 'ui-phone',
    hash: '#/inbox/lld/12',
    until: '.question.chosen',
    scheme: 'dark',
    size: { width: 390, height: 780 },
    isMobile: true,
  },
];

/** `agentos ui`, with the address that it printed. */
async function startUi(cwd) {
  const child = spawn(program, ['ui', '--port', '0'], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  for await (const piece of child.stdout) {
    printed += piece;
    if (printed.includes('Ctrl+C')) break;
  }
  return { child, url: /http:\S+/.exec(printed)[0] };
}

try {
  const tour = spawnSync(program, ['demo', '--dir', 'steep'], { cwd: folder, env, encoding: 'utf8' });
  if (tour.status !== 0) throw new Error(tour.stdout);
  const { child, url } = await startUi(join(folder, 'steep'));
  const browser = await launchBrowser();
  try {
    for (const { name, hash, until, act, scheme = 'light', size = SIZE, isMobile = false } of PICTURES) {
      const page = await browser.newPage({ viewport: size, isMobile, colorScheme: scheme, reducedMotion: 'reduce' });
      await page.goto(url);
      await page.waitForSelector('.shell');
      await page.goto(`${new URL(url).origin}/${hash}`);
      await page.waitForSelector(until);
      await act?.(page);
      await page.waitForTimeout(500);
      const path = join(root, 'docs', 'images', `${name}.png`);
      await page.screenshot({ path });
      await page.close();
      const { size: bytes } = statSync(path);
      if (bytes > LARGEST_BYTES) throw new Error(`${path} has ${bytes} bytes`);
      process.stdout.write(`docs/images/${name}.png (${Math.round(bytes / 1_000)} KB)\n`);
    }
  } finally {
    await browser.close();
    child.kill('SIGINT');
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
