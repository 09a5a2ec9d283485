import type { BaseCommit } from '../../git/repository.ts';

/** A token is about four characters in English text and code; vendors differ, and a budget needs no more. */
const CHARS_PER_TOKEN = 4;
const LARGEST_FILE_BYTES = 64 * 1024;
/** The listing may take this part of the budget; what the issue names is worth more. */
const LISTING_SHARE = 0.4;

const SECRET_NAMES = [
  /^\.env(\..+)?$/i,
  /^\.(npmrc|netrc|pypirc|pgpass|htpasswd|dockercfg|git-credentials)$/i,
  /^id_(rsa|dsa|ecdsa|ed25519)/i,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$/i,
  /^(credentials?|secrets?|service[-_]?account)(\.[\w.-]+)?$/i,
  /(^|[._-])(secret|secrets|credentials)\.(ya?ml|json|toml|ini|txt)$/i,
];
const HARMLESS = /^\.env\.(example|sample|template|dist)$/i;
const SECRET_FOLDERS = new Set(['.ssh', '.aws', '.gnupg', '.kube', '.docker']);
const SECRET_CONTENT = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

export interface ContextOptions {
  maxTokens: number;
  exclude: string[];
}

/** What a drafter is shown of the repository, and what was left out and why. */
export interface RepositoryContext {
  text: string;
  included: string[];
  leftOut: { path: string; why: 'secret' | 'large' | 'binary' | 'budget' | 'excluded' }[];
}

export async function repositoryContext(
  base: BaseCommit,
  issue: string,
  options: ContextOptions,
): Promise<RepositoryContext> {
  const budget = options.maxTokens * CHARS_PER_TOKEN;
  const excluded = (path: string): boolean =>
    options.exclude.some((entry) => path === entry || path.startsWith(`${entry.replace(/\/+$/, '')}/`));
  const visible = base.paths.filter((path) => !isSecret(path) && !excluded(path));
  const listing = listFiles(visible, budget * LISTING_SHARE);
  const sections = [`## Files at ${base.commit.slice(0, 12)}\n\n${fenced(listing)}`];
  const included: string[] = [];
  const leftOut: RepositoryContext['leftOut'] = [];
  let used = sections[0]?.length ?? 0;

  for (const path of namedPaths(issue, base.paths)) {
    const size = base.sizeOf(path);
    if (isSecret(path)) leftOut.push({ path, why: 'secret' });
    else if (excluded(path)) leftOut.push({ path, why: 'excluded' });
    else if (size === null || size > LARGEST_FILE_BYTES) leftOut.push({ path, why: 'large' });
    else if (used + size > budget) leftOut.push({ path, why: 'budget' });
    else {
      const content = await base.read(path);
      const text = content.toString('utf8');
      if (content.includes(0) || text.includes('\uFFFD')) leftOut.push({ path, why: 'binary' });
      else if (SECRET_CONTENT.test(text)) leftOut.push({ path, why: 'secret' });
      else {
        const section = `## ${path}\n\n${fenced(text)}`;
        used += section.length;
        included.push(path);
        sections.push(section);
      }
    }
  }
  if (leftOut.length > 0) {
    sections.push(`## Not shown\n\n${leftOut.map(({ path, why }) => `- ${path} (${why})`).join('\n')}`);
  }
  return { text: sections.join('\n\n'), included, leftOut };
}

export function isSecret(path: string): boolean {
  const segments = path.split('/');
  const name = segments.at(-1) ?? '';
  if (HARMLESS.test(name)) return false;
  return segments.some((segment) => SECRET_FOLDERS.has(segment)) || SECRET_NAMES.some((pattern) => pattern.test(name));
}

/** Tracked files that the text names, by path or by a file name that only one of them has, in the order of mention. */
export function namedPaths(text: string, paths: readonly string[]): string[] {
  const all = new Set(paths);
  const byName = new Map<string, string | null>();
  for (const path of paths) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    byName.set(name, byName.has(name) ? null : path);
  }
  const named = new Set<string>();
  for (const [word] of text.matchAll(/[\p{L}\p{N}_@.+/-]+/gu)) {
    const candidate = word.replace(/^(\.\/)+|[.,:;]+$/g, '');
    const path = all.has(candidate) ? candidate : candidate.includes('.') ? byName.get(candidate) : null;
    if (path) named.add(path);
  }
  return [...named];
}

/** Every path while they fit; then folders with a count, the deepest folded first. */
function listFiles(paths: readonly string[], budget: number): string {
  let lines = [...paths];
  for (let depth = 8; size(lines) > budget && depth >= 1; depth--) lines = foldBelow(paths, depth);
  while (size(lines) > budget && lines.length > 1) lines = [...lines.slice(0, Math.floor(lines.length / 2)), '…'];
  return lines.join('\n');
}

function size(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

function foldBelow(paths: readonly string[], depth: number): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const segments = path.split('/');
    const line = segments.length > depth ? `${segments.slice(0, depth).join('/')}/` : path;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => (line.endsWith('/') ? `${line} (${count} files)` : line));
}

/** A fence longer than any inside the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}
