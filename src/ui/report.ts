import { createHash } from 'node:crypto';
import type { Project } from '../run/project.ts';
import type { Answers, InboxItem, RunDetail } from './api.ts';
import { maskAll } from './data/mask-all.ts';
import { createPages, type Pages } from './data/pages.ts';
import { builtPage, shell } from './server/assets.ts';

/** A report is sent by mail and kept by build servers: it stays small, and is written in seconds. */
const MOST_BYTES = 8 << 20;
const MOST_MS = 3_000;

interface ReportOptions {
  project: Project;
  version: string;
  runId: string;
  now: Date;
}

/** A run as one file: the pages with the answers that they would ask a server for. Nothing of it is loaded from elsewhere. */
export async function htmlReport({ project, version, runId, now }: ReportOptions): Promise<string> {
  const startedMs = performance.now();
  const pages = createPages({ project, version, readOnly: true, writtenAt: now.toISOString() });
  const answers: Record<string, unknown> = {};
  let bytes = 0;
  const add = (path: string, answer: unknown): void => {
    answers[path] = answer;
    bytes += JSON.stringify(answer).length;
  };
  const overview = await pages.overview();
  add('overview', { ...overview, runs: overview.runs.filter((run) => run.runId === runId) });
  for (const path of [`run/${runId}`, 'inbox', 'board', 'money']) add(path, await pages.get(path));
  const run = answers[`run/${runId}`] as RunDetail | null;
  const inbox = answers['inbox'] as Answers['inbox'];
  for (const path of wanted(inbox, run)) {
    // What is left out is named on the page, which asks for it in vain.
    if (bytes > MOST_BYTES || performance.now() - startedMs > MOST_MS) break;
    const answer = await answerOf(pages, path);
    if (answer !== null) add(path, answer);
  }
  const mask = maskAll(project);
  return page(mask(JSON.stringify(answers)), `${overview.repository}, ${run?.brief.workflow ?? 'run'}`);
}

/** What a reader looks at first: what waits for a person, what failed, then the rest; what models were shown last. */
function wanted(inbox: readonly InboxItem[], run: RunDetail | null): string[] {
  const weight: Record<string, number> = { discuss: 0, succeeded: 2, skipped: 3 };
  const items = (run?.snapshot.items ?? []).toSorted(
    (a, b) => (weight[a.status ?? ''] ?? 1) - (weight[b.status ?? ''] ?? 1),
  );
  const ids = [...new Set([...inbox.map(({ id }) => id), ...items.map(({ id }) => id)])];
  return [
    ...inbox.map(({ workflow, id }) => `question/${workflow}/${id}`),
    ...ids.map((id) => `item/${id}`),
    ...ids.slice(0, MOST_CONTEXTS).map((id) => `context/${id}`),
  ];
}

/** Choosing them takes tenths of a second each. */
const MOST_CONTEXTS = 10;

async function answerOf(pages: Pages, path: string): Promise<unknown> {
  return pages.get(path).catch(() => null);
}

/** Script and style are in the file, each allowed by its hash; nothing else runs. */
async function page(data: string, title: string): Promise<string> {
  const { script, style } = await builtPage();
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'`;
  return shell({
    title: inText(`${title} – agentos report`),
    head: `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<style>${style}</style>`,
    body: `<script type="application/json" id="data">${inScript(data)}</script>\n<script type="module">${script}</script>`,
  });
}

function inText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** JSON in which no end of a script and no comment can stand, whatever a model wrote. */
function inScript(json: string): string {
  return json.replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}
