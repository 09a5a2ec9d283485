import { parseJson } from '../core/json.ts';
import { listed } from '../core/lines.ts';
import type { ImplementContext } from './implement-item.ts';

/** What runs elsewhere with more rights than a test, or decides what is run: a person looks at a change to it. */
const PROTECTED: readonly RegExp[] = [
  /^\.github\/(?:workflows|actions)\//,
  /^(?:\.gitlab-ci\.yml|\.circleci\/.+|azure-pipelines\.yml|Jenkinsfile)$/,
  /^(?:agentos\.yaml|agentos\/prompts\/.+|\.gitmodules)$/,
  /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.c?js|\.husky\/.+)$/,
  /(?:^|\/)(?:\.claude|\.codex|\.gemini|\.opencode|\.cursor)\/|(?:^|\/)(?:\.mcp|opencode)\.jsonc?$/,
];

export function isProtected(path: string): boolean {
  return PROTECTED.some((form) => form.test(path));
}

/** Package managers run these on an install. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];

/** Why a person has to look at a change before it is approved; null: nothing that the LLD does not name. */
export async function protectedChange(context: ImplementContext, tree: string): Promise<string | null> {
  const { worktree, baseTree, lld } = context;
  const isNamed = (path: string): boolean =>
    lld.files.some((file) => file.path === path || path.startsWith(`${file.path.replace(/\/$/, '')}/`));
  const found: string[] = [];
  for (const { path } of await worktree.changes(baseTree, tree)) {
    if (isProtected(path) && !isNamed(path)) found.push(path);
    if (!/(?:^|\/)package\.json$/.test(path)) continue;
    const [before, after] = await Promise.all(
      [baseTree, tree].map(async (at) => scriptsIn(await worktree.read(at, path))),
    );
    const changed = INSTALL_SCRIPTS.filter(
      (name) => before?.[name] !== after?.[name] && !isScriptNamed(lld.text, name),
    );
    found.push(...changed.map((name) => `${path} (script ${name})`));
  }
  return found.length === 0 ? null : `it changes what only a person may change, and the LLD does not: ${listed(found)}`;
}

/** As a name, not as a word of a sentence: `install` is one of them. */
function isScriptNamed(text: string, name: string): boolean {
  return text.includes(`\`${name}\``) || text.includes(`"${name}"`);
}

function scriptsIn(text: string | null | undefined): Record<string, unknown> {
  const { scripts } = (parseJson(text ?? '') ?? {}) as { scripts?: unknown };
  return typeof scripts === 'object' && scripts !== null ? (scripts as Record<string, unknown>) : {};
}
