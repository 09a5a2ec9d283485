import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { packageRoot } from '../../process/own-process.ts';

/** A static file of the page. */
export interface Asset {
  type: string;
  bytes: Buffer;
  compressed: Buffer;
  tag: string;
}

/** A square with a check mark. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3d63dd"/><path d="M4 8.5 7 11.5 12 5" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>';

/** The page without any data, so it is safe to send without the token. */
export function shell({ title, head, body }: { title: string; head: string; body: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
${head}
</head>
<body>
<div id="app"><p class="loading">Loading …</p></div>
${body}
</body>
</html>
`;
}

/** Script and style of the pages, as built. */
export async function builtPage(): Promise<{ script: string; style: string }> {
  const folder = join(packageRoot(), 'dist', 'ui');
  const [script, style] = await Promise.all([
    readFile(join(folder, 'app.js'), 'utf8'),
    readFile(join(folder, 'app.css'), 'utf8'),
  ]);
  return { script, style };
}

export async function loadAssets(): Promise<ReadonlyMap<string, Asset>> {
  const { script, style } = await builtPage();
  const head =
    '<link rel="icon" href="/icon.svg">\n<link rel="stylesheet" href="/app.css">\n<script type="module" src="/app.js"></script>';
  const texts: [path: string, type: string, text: string][] = [
    ['/', 'text/html; charset=utf-8', shell({ title: 'agentos', head, body: '' })],
    ['/app.js', 'text/javascript; charset=utf-8', script],
    ['/app.css', 'text/css; charset=utf-8', style],
    ['/icon.svg', 'image/svg+xml', ICON],
  ];
  const assets = texts.map(async ([path, type, text]): Promise<[string, Asset]> => {
    const bytes = Buffer.from(text);
    const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    return [path, { type, bytes, compressed: await promisify(gzip)(bytes), tag }];
  });
  return new Map(await Promise.all(assets));
}
