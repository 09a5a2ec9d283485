import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { sha256 } from './hash.ts';
import type { ItemId } from './ids.ts';

/** In the order in which an idea goes through them. */
export const STAGES = ['issue', 'lld', 'implement'] as const;
export type StageName = (typeof STAGES)[number];

/** `eval` replays what is past, `land` combines what is finished: they are no stage of anything. */
export const WORKFLOWS = [...STAGES, 'eval', 'land'] as const;
export type WorkflowName = (typeof WORKFLOWS)[number];

/** What a batch command runs: one workflow, or several one after another. */
export const PIPELINES = [...WORKFLOWS, 'run'] as const;
export type PipelineName = (typeof PIPELINES)[number];

/** What people see in front of a line: `[LLD-42]`. */
const LABELS: Record<WorkflowName, string> = {
  lld: 'LLD',
  issue: 'ISSUE',
  implement: 'IMPL',
  eval: 'EVAL',
  land: 'LAND',
};

export function labelOf(workflow: WorkflowName, id: ItemId): string {
  return `${LABELS[workflow]}-${id}`;
}

export function isInside(parent: string, path: string): boolean {
  const way = relative(parent, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** From the repository's root where it is below it; else whole. */
export function shownPath(repository: string, path: string): string {
  return isInside(repository, path) ? relative(repository, path) : path;
}

/**
 * Where state lives. Inside the repository by default; a folder outside of it gets a subfolder per repository, so that
 * two repositories never share the state of an item that happens to have the same number in both. The repository itself
 * is never the folder: its own `.gitignore` would hide the user's files from git.
 */
export function baseDirectory(repository: string, chosen: string | null, cwd: string): string {
  const base = chosen === null || chosen === '' ? repository : resolve(cwd, chosen);
  if (relative(repository, base) === '') return join(repository, '.agentos');
  if (isInside(repository, base)) return base;
  return join(base, `${basename(repository).replace(/[^a-zA-Z0-9_.-]/g, '_')}-${sha256(repository).slice(0, 12)}`);
}

/**
 * What a URL, a pattern, a search path or a shell gives a meaning to: Node imports nothing from a path with a backslash,
 * Vite nothing from one with `?` or `#`, rustc's linker writes nothing to one with `%`, pytest no report to one with `$`.
 */
const ODD = /[\\?#%*[\]{}$:;"`<>|\p{Cc}]/u;

/**
 * Where worktrees are, and the homes and caches of what runs in them: the one function that knows. A base directory that was
 * chosen outside of the repository, if every tool can work there; else a folder of this user's among the temporary files that
 * outlive a restart. In the repository the user's own tools would collect the tests of worktrees, and packages would be
 * found by climbing up; below a folder with a dot, web servers answer 404.
 */
export function workDirectory(repository: string, base: string, userId: number): string {
  const isUsable =
    !isInside(repository, base) && !ODD.test(base) && !base.split(sep).some((name) => name.startsWith('.'));
  if (isUsable) return base;
  const name = basename(repository)
    .replace(/[^a-zA-Z0-9_.-]/g, '_')
    .replace(/^\.+/, '_');
  return join('/var/tmp', `agentos-${userId}`, `${name}-${sha256(base).slice(0, 12)}`);
}

/** Every path of ours, from the folders that all of them are in. */
export interface Paths {
  repository: string;
  base: string;
  /** See `workDirectory`. */
  work: string;
  issues: string;
  briefs: string;
  prompts: string;
  runs: string;
  /** What was last known of the credential pool; no secrets. */
  keys: string;
  /** What a watch has started, and the lock of the one that runs. */
  watch: string;
  watchLock: string;
  issue(id: ItemId): string;
  llds: string;
  lld(id: ItemId): string;
  lineages: string;
  lineage(id: ItemId): string;
  /** Of a brief that is called like an issue: no id has a dot, so that the two can't meet. */
  briefLineage(id: ItemId): string;
  /** On the branch of the item: relative to whatever worktree holds it. */
  report(id: ItemId): string;
  /** The approved LLD beside its report; no id has a dot, so that it is never another item's report. */
  reportedLld(id: ItemId): string;
  /** The versions of a design beside its report, where they are committed. */
  reportedLineage(id: ItemId): string;
  worktrees: string;
  worktree(workflow: WorkflowName, id: ItemId): string;
  homes: string;
  /** The home of what runs in an item's worktree: agents, set-up, tests. */
  home(workflow: WorkflowName, id: ItemId): string;
  /** Caches of package managers and compilers, shared by the items. */
  caches: string;
  /** What planning needs of designs, in the folder of caches. */
  designs: string;
  /** The words of the repository's files, in the folder of caches. */
  contextIndex: string;
  /** What was undone in an item's worktree, as patches. */
  undone(workflow: WorkflowName, id: ItemId): string;
  checkpoints: string;
  checkpoint(workflow: WorkflowName, id: ItemId): string;
  locks: string;
  lock(workflow: WorkflowName, id: ItemId): string;
  /** Serialises changes to git's worktrees over all processes. */
  gitQueue: string;
  run(runId: string): RunPaths;
}

export interface RunPaths {
  directory: string;
  record: string;
  events: string;
  summary: string;
  /** What people ask of the run while it is under way, a line each. */
  requests: string;
  log(workflow: WorkflowName, id: ItemId): string;
  audit(workflow: WorkflowName, id: ItemId): string;
  /** A folder, with a file for each call of an agent. */
  transcripts(workflow: WorkflowName, id: ItemId): string;
}

export function pathsOf(repository: string, base: string, work = base): Paths {
  return {
    repository,
    base,
    work,
    issues: join(repository, 'issues'),
    briefs: join(repository, 'briefs'),
    prompts: join(repository, 'agentos', 'prompts'),
    runs: join(base, 'runs'),
    keys: join(base, 'keys.json'),
    watch: join(base, 'watch.json'),
    watchLock: join(base, 'locks', 'watch.lock'),
    issue: (id) => join(repository, 'issues', `${id}.md`),
    llds: join(repository, 'docs', 'lld'),
    lld: (id) => join(repository, 'docs', 'lld', `LLD-${id}.md`),
    lineages: join(repository, 'docs', 'lineage'),
    lineage: (id) => join(repository, 'docs', 'lineage', id),
    briefLineage: (id) => join(repository, 'docs', 'lineage', `${id}.brief`),
    report: (id) => `docs/reports/${id}.md`,
    reportedLld: (id) => `docs/reports/${id}.lld.md`,
    reportedLineage: (id) => `docs/reports/${id}.lineage`,
    worktrees: join(work, 'worktrees'),
    worktree: (workflow, id) => join(work, 'worktrees', `${workflow}-${id}`),
    homes: join(work, 'homes'),
    home: (workflow, id) => join(work, 'homes', `${workflow}-${id}`),
    caches: join(work, 'caches'),
    designs: join(base, 'caches', 'designs.jsonl'),
    contextIndex: join(base, 'caches', 'context-index'),
    undone: (workflow, id) => join(base, 'undone', `${workflow}-${id}`),
    checkpoints: join(base, 'checkpoints'),
    checkpoint: (workflow, id) => join(base, 'checkpoints', `${workflow}-${id}.db`),
    locks: join(base, 'locks'),
    lock: (workflow, id) => join(base, 'locks', `${workflow}-${id}.lock`),
    gitQueue: join(base, 'locks', 'git-worktree.lock'),
    run: (runId) => {
      const directory = join(base, 'runs', runId);
      return {
        directory,
        record: join(directory, 'run.json'),
        events: join(directory, 'events.jsonl'),
        summary: join(directory, 'summary.json'),
        requests: join(directory, 'requests.jsonl'),
        log: (workflow, id) => join(directory, 'logs', `${workflow}-${id}.log`),
        audit: (workflow, id) => join(directory, 'audit', `${workflow}-${id}.jsonl`),
        transcripts: (workflow, id) => join(directory, 'transcripts', `${workflow}-${id}`),
      };
    },
  };
}

/**
 * Package managers and compilers that are not told otherwise keep what they fetch in these folders of `caches`, not in
 * the user's home.
 */
export const CACHE_FOLDERS: Readonly<Record<string, string>> = {
  npm_config_cache: 'npm',
  npm_config_store_dir: 'pnpm',
  YARN_CACHE_FOLDER: 'yarn',
  YARN_GLOBAL_FOLDER: 'yarn-global',
  BUN_INSTALL_CACHE_DIR: 'bun',
  COREPACK_HOME: 'corepack',
  PIP_CACHE_DIR: 'pip',
  UV_CACHE_DIR: 'uv',
  POETRY_CACHE_DIR: 'poetry',
  GOPATH: 'go',
  GOMODCACHE: 'go/pkg/mod',
  GOCACHE: 'go-build',
  CARGO_HOME: 'cargo',
  GRADLE_USER_HOME: 'gradle',
  NUGET_PACKAGES: 'nuget',
  COMPOSER_CACHE_DIR: 'composer',
};
