import { codeOf } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import type { ItemId } from '../../core/ids.ts';
import { createGit, type Git } from '../../git/git.ts';
import { commitFiles, headCommit } from '../../git/repository.ts';
import { createTerminal, printable } from '../../output/terminal.ts';
import { repositoryContext } from '../../prompts/context/context.ts';
import { readIndex } from '../../prompts/context/index-file.ts';
import { lookingBack, openProject, type Project } from '../../run/project.ts';
import { createBriefSource, parseIssue } from '../../source/directory.ts';
import type { Issue } from '../../source/port.ts';
import { type PlaceFlags, readItemId } from '../request.ts';

/** What drafter and reviewer are shown of the repository for an item, as they are shown it. Reads, and writes nothing. */
export async function contextCommand(which: string, flags: PlaceFlags & { json?: boolean }): Promise<number> {
  const { repo, baseDir, config: configFile, source } = flags;
  const id = readItemId(which, repo);
  const place = { cwd: process.cwd(), env: process.env, repo, baseDir, config: configFile, flags: { source } };
  const project = lookingBack(await openProject({ ...place, mayBeBare: true }));
  const { paths, config, childEnv, mask } = project;
  const git = createGit(paths.repository, childEnv);
  const commit = await headCommit(git);
  const asked = await askedFor(id, project, git, commit);
  const known = await readIndex(paths.contextIndex);
  const context = await repositoryContext(git, commit, asked, config.context, known);
  const { base, budgetTokens, tokens, files, leftOut } = context;
  if (flags.json) {
    const shown = { id, base, budgetTokens, tokens, files, leftOut };
    process.stdout.write(`${mask(JSON.stringify(shown, null, 2))}\n`);
    return EXIT.ok;
  }
  const terminal = createTerminal(process.stdout, process.env, mask);
  for (const line of context.text.split('\n')) terminal.line(printable(line));
  const outlines = files.filter(({ part }) => part === 'outline').length;
  terminal.line('');
  terminal.line(
    `${tokens} of ${budgetTokens} tokens for ${id} at ${base.slice(0, 12)}: code of ${files.length - outlines} file(s), outlines of ${outlines}.`,
  );
  return EXIT.ok;
}

/** The issue or the brief; where no files are checked out, the issue as the commit has it. */
async function askedFor(id: ItemId, { paths, source }: Project, git: Git, commit: string): Promise<Issue> {
  try {
    return await source.read(id);
  } catch (error) {
    if (codeOf(error) !== 'issue-missing') throw error;
    const brief = await createBriefSource(paths.briefs)
      .read(id)
      .catch(() => null);
    if (brief !== null) return brief;
    const text = await commitFiles(git, commit).read(`issues/${id}.md`);
    if (text.trim() === '') throw error;
    return parseIssue(id, text);
  }
}
