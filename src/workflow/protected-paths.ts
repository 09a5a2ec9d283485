import { parseJson } from '../core/json.ts';
import { listed } from '../core/lines.ts';
import type { ImplementContext } from './implement-item.ts';

/**
 * What runs elsewhere with more rights than a test, or decides what is run: a person looks at a change to it. Whatever its letters:
 * not every file system tells `.GitHub` from `.github`.
 */
const PROTECTED: readonly RegExp[] = [
  // What a forge runs.
  /^\.(?:github|gitea|forgejo)\/(?:workflows|actions)\//i,
  /^\.github\/(?:dependabot\.ya?ml|CODEOWNERS|copilot-instructions\.md)$|^CODEOWNERS$/i,
  /^(?:\.gitlab-ci\.yml|\.circleci\/.+|\.buildkite\/.+|azure-pipelines\.yml|bitbucket-pipelines\.yml|Jenkinsfile)$/i,
  /^(?:\.travis|appveyor|\.appveyor|\.drone|\.woodpecker|cloudbuild)\.ya?ml$/i,
  // What we are told to run.
  /^(?:agentos\.yaml|agentos\/prompts\/.+|\.gitmodules)$/i,
  // What an install, a shell, an editor or a commit runs on the machine of a person who checks it out.
  /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.[cm]?js|pnpm-workspace\.yaml|binding\.gyp|setup\.py|\.envrc)$/i,
  /(?:^|\/)\.yarn\/(?:releases|plugins)\/|(?:^|\/)(?:\.husky|\.githooks|\.devcontainer)\//i,
  /^(?:\.pre-commit-config\.yaml|\.?lefthook\.ya?ml|\.vscode\/(?:tasks|launch|settings)\.json)$/i,
  // What agents are told.
  /(?:^|\/)(?:\.claude|\.codex|\.gemini|\.opencode|\.cursor)\/|(?:^|\/)(?:\.mcp|opencode)\.jsonc?$/i,
  /(?:^|\/)(?:AGENTS|CLAUDE|GEMINI)(?:\.local|\.override)?\.md$|^(?:\.cursorrules|\.windsurfrules|\.aider\.conf\.yml)$/i,
];

/** Folders of these: a link in the place of one has others of them behind it. */
const FOLDERS = new RegExp(
  `(?:^|/)(?:${[
    '\\.(?:github|gitea|forgejo|circleci|buildkite|husky|githooks|devcontainer|yarn|vscode)',
    '\\.(?:claude|codex|gemini|opencode|cursor)',
    'agentos(?:/prompts)?',
    '\\.(?:github|gitea|forgejo)/(?:workflows|actions)',
  ].join('|')})$`,
  'i',
);

/** Package managers run these on an install. */
const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'preprepare',
  'prepare',
  'postprepare',
  'prepublish',
  'dependencies',
];

export function isProtected(path: string, isLink = false): boolean {
  return PROTECTED.some((form) => form.test(path)) || (isLink && FOLDERS.test(path));
}

/** Why a person has to look at a change before it is approved; null: nothing that the LLD does not name. */
export async function protectedChange(context: ImplementContext, tree: string): Promise<string | null> {
  const { worktree, baseTree, lld } = context;
  const isNamed = (path: string): boolean =>
    lld.files.some((file) => file.path === path || path.startsWith(`${file.path.replace(/\/$/, '')}/`));
  const found: string[] = [];
  for (const { path, isLink } of await worktree.changes(baseTree, tree)) {
    if (isProtected(path, isLink) && !isNamed(path)) found.push(path);
    if (!/(?:^|\/)package\.json$/i.test(path)) continue;
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
