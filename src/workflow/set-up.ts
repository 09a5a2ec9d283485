import { readdirSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { toErrorRecord } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines, listed } from '../core/lines.ts';
import { shownPath } from '../core/paths.ts';
import { wordingOf } from '../core/wording.ts';
import { copyIgnored } from '../git/copy-ignored.ts';
import type { Git } from '../git/git.ts';
import { removeAll, type SetUpRoot } from '../git/worktree/set-up-files.ts';
import { makeFolder, writeFileAtomic } from '../process/files.ts';
import { importedFromElsewhere } from '../process/python.ts';
import type { Sandbox, SandboxWish } from '../process/sandbox/sandbox.ts';
import { detectSetup, isSetupFile, runSetup } from '../process/setup.ts';
import { traced } from '../telemetry/tracer.ts';
import type { WorktreeContext } from './worktree-item.ts';

type SetUpContext = Omit<WorktreeContext, 'setUp' | 'suite' | 'portable' | 'baseTree' | 'isNewWorktree'>;

interface Installed {
  /** With the lock files that the set-up wrote: the branch needs them. */
  tree: string;
  /** Why the set-up failed; for the writer. */
  problem: string | null;
}

/** The message of a set-up that fails because of what was written, like a test. Any other error is thrown again. */
export function setUpProblem(error: unknown): string {
  const { problem, retry } = toErrorRecord(error);
  if (problem.code !== 'setup-failed' || retry !== 'permanent') throw error;
  return wordingOf(problem).message;
}

/**
 * Installs what the tests need: when the worktree is made, and again when the writer changes a file that the set-up reads (a
 * manifest, a lock file). A marker file in the item's home says what is installed. `isUntouched`: the base holds nothing that
 * an agent wrote.
 */
export function createSetUp(context: SetUpContext, isUntouched = false) {
  const { workflow, paths, id, emit, worktree, base, git, itemEnv, packages } = context;
  const { setup, copy } = context.config.implement;
  const { directory } = worktree;
  const home = paths.home(workflow, id);
  const marker = join(home, 'set-up.json');
  const markerFor = (changed: string | null): string =>
    `${JSON.stringify({ start: base, setup, copy, packages, changed })}\n`;
  const installed = (): Promise<string | null> => readFile(marker, 'utf8').catch(() => null);
  const setupFiles = async (from: string, to: string): Promise<string[]> =>
    (await worktree.changes(from, to)).map(({ path }) => path).filter(isSetupFile);
  /** A hash of the set-up files that differ from the base; null: none does. */
  const changedIn = async (tree: string): Promise<string | null> => {
    const files = await setupFiles(await worktree.treeOf(base), tree);
    if (files.length === 0) return null;
    const contents = await Promise.all(files.map((path) => worktree.read(tree, path)));
    return sha256(JSON.stringify(files.map((path, at) => [path, contents[at]])));
  };
  const commandFor = async (locks: 'frozen' | 'updated'): Promise<string | null> =>
    setup === false ? null : (setup ?? (await detectSetup(directory, itemEnv['PATH'], { locks, packages })));
  const run = async (command: string): Promise<void> => {
    emit({ type: 'notice', text: `set-up: ${command}` });
    // A set-up that fails in the middle is not installed.
    await rm(marker, { force: true });
    const before = await hooksPath(git);
    await runCommand(command, context, isUntouched);
    // Some set-ups point the user's repository to hooks in the worktree.
    if ((await hooksPath(git)) !== before) await setHooksPath(git, before);
  };
  /** With the home, which holds virtual environments, packages and settings. */
  const roots = (): SetUpRoot[] => [
    { folder: directory, made: worktree.madeBySetUp() },
    { folder: home, made: null, except: OWN_FILES },
  ];
  const copyFiles = async (): Promise<void> => {
    const { missing, refused } = await copyIgnored(git, directory, copy);
    for (const { path, reason } of refused) emit({ type: 'notice', text: `${path} is not copied: ${reason}` });
    if (missing.length > 0)
      emit({ type: 'notice', text: `implement.copy names what is not there: ${missing.join(', ')}` });
  };
  /** Notes that what is there now was made by the set-up. */
  const recordMade = async (changed: string | null): Promise<void> => {
    await worktree.setUpFiles.record(roots());
    await writeFileAtomic(marker, markerFor(changed));
  };
  /** Returns the command that ran, if any. */
  const install = async (): Promise<string | null> => {
    const command = await commandFor('frozen');
    if (command === null) return null;
    const startedAt = performance.now();
    emit({ type: 'step-started', step: 'set-up', model: null });
    await run(command);
    const durationMs = performance.now() - startedAt;
    emit({ type: 'step-finished', step: 'set-up', replayed: false, costUsd: 0, durationMs });
    return command;
  };
  const installAgain = async (changed: string | null): Promise<void> => {
    await install();
    await worktree.ignoreMadeAgain();
    await recordMade(changed);
  };

  return {
    /** Runs for the base commit, unless that is installed. Returns whether a command ran. */
    async first(isNew: boolean): Promise<boolean> {
      // A later set-up of this worktree includes that of the base.
      const known = (await installed())?.replace(/"changed":"\w+"/, '"changed":null');
      if (!isNew && known === markerFor(null)) return false;
      await copyFiles();
      const command = await install();
      const how = { env: itemEnv, signal: context.signal, sandbox: await openIn(context) };
      for (const { name, origin } of await importedFromElsewhere(directory, how))
        emit({
          type: 'notice',
          text: `Python imports ${name} from ${origin}, not from the worktree: that copy would be tested. Name a command that installs this one as implement.setup in agentos.yaml.`,
        });
      await worktree.ignoreMadeBySetup(isNew && command === null && copy.length === 0);
      await recordMade(null);
      return command !== null;
    },

    /**
     * Before tests run on the tree in the worktree: `installs` what it needs, unless that is installed, and reverts what was
     * changed in the installed files. Returns the files that were added and are removed, without caches of tools.
     */
    async prepare(tree: string, installs: boolean): Promise<string[]> {
      const needed = installs ? await changedIn(tree) : null;
      if (installs && (await installed()) !== markerFor(needed)) await installAgain(needed);
      const found = await worktree.setUpFiles.changes(roots());
      const { added, changed } = found ?? { added: [], changed: [] };
      if (found === null || changed.length > 0) {
        const names = changed.map((path) => shownPath(directory, path));
        if (found !== null)
          emit({ type: 'notice', text: `installed files were changed, so the set-up runs again: ${listed(names)}` });
        // From scratch: a tool that finds its files there would leave them as they are.
        await removeAll(pathsOf(roots()), roots());
        await makeFolder(itemEnv['TMPDIR'] ?? home);
        await worktree.restore(tree);
        await copyFiles();
        await installAgain(await changedIn(tree));
        // The set-up may have changed files of the tree.
        await worktree.restore(tree);
      } else await removeAll(added, roots());
      const names = added.map((path) => shownPath(directory, path));
      return names.filter((name) => !isAbsolute(name) && !/(?:^|\/)\.[^/]*(?:$|\/)|__pycache__/.test(name));
    },

    /** After the tests of the base ran: files that they changed in the installed ones are not compared from then on. */
    afterBaseline: (): Promise<void> => worktree.setUpFiles.recordUnsteady(roots()),

    /** Runs after a call of the writer that led from `start` to `tree`, as a durable step. */
    async afterWriting(start: string, tree: string, step: string): Promise<Installed> {
      const unchanged = { tree, problem: null };
      if (setup === false || (await setupFiles(start, tree)).length === 0) return unchanged;
      const { value } = await context.step<Installed>({ name: `${step}-set-up`, inputs: { tree } }, async () => {
        await worktree.restore(tree);
        const command = await commandFor('updated');
        if (command === null) return unchanged;
        const problem = await run(command).then(() => null, setUpProblem);
        if (problem !== null) return { tree, problem };
        await worktree.ignoreMadeAgain();
        const after = await worktree.snapshot();
        const whole = await worktree.withPathsFrom(tree, after, await setupFiles(tree, after));
        await recordMade(await changedIn(whole));
        return { tree: whole, problem: null };
      });
      return value;
    },
  };
}

/** Files in an item's home that the set-up did not make. */
const OWN_FILES: ReadonlySet<string> = new Set(['set-up.json', 'reviews', 'test-reports', '.gitconfig']);

function pathsOf(roots: readonly SetUpRoot[]): string[] {
  return roots.flatMap(({ folder, made, except }) => {
    const names = made ?? readdirSync(folder).filter((name) => !except?.has(name));
    return names.map((name) => join(folder, name.replace(/\/$/, '')));
  });
}

/** The setting of the user's repository; null: not set. */
async function hooksPath(git: Git): Promise<string | null> {
  return git.text(['config', '--local', '--get', 'core.hooksPath']).catch(() => null);
}

async function setHooksPath(git: Git, path: string | null): Promise<void> {
  const change =
    path === null ? ['--unset-all', 'core.hooksPath'] : ['--replace-all', 'core.hooksPath', path.trimEnd()];
  await git.run(['config', '--local', ...change]);
}

async function runCommand(command: string, context: SetUpContext, isUntouched: boolean): Promise<void> {
  const { signal, emit, mask, onProgress, itemEnv: env, onGroup, config, worktree } = context;
  // A command in the configuration may name files outside; a detected one does not.
  const named = config.implement.setup === command ? { command } : {};
  const sandbox = await openIn(context, { network: ['registries'], isUntouched, ...named });
  const onLine = boundedLines((line) =>
    emit({ type: 'output-line', stream: 'stdout', line: mask(line), of: 'set-up' }),
  );
  const { directory } = worktree;
  const timeoutMs = config.implement.setupTimeoutMs;
  await traced('set-up', {}, () =>
    runSetup({ command, directory, env, sandbox, timeoutMs, signal, onLine, mask, onProgress, onGroup }),
  );
}

async function openIn(
  { worktree, sandbox, itemEnv: env }: SetUpContext,
  more: Pick<SandboxWish, 'network' | 'isUntouched' | 'command'> = {},
): Promise<Sandbox | undefined> {
  return sandbox?.({ worktree: worktree.directory, may: 'write', env, ...more });
}
