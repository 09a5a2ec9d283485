import { codeOf } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import type { Git } from '../../git/git.ts';
import { commitFiles, headCommit } from '../../git/repository.ts';
import { type RepositoryContext, repositoryContext } from '../../prompts/context/context.ts';
import { readIndex } from '../../prompts/context/index-file.ts';
import { createBriefSource, parseIssue } from '../../source/directory.ts';
import type { Issue } from '../../source/port.ts';
import type { Project } from '../project.ts';

/** What drafter and reviewer are shown of the repository for an item. Default commit: HEAD. */
export async function contextOf(project: Project, id: ItemId, at: string | null = null): Promise<RepositoryContext> {
  const { paths, config, git } = project;
  const commit = at ?? (await headCommit(git));
  const asked = await askedFor(id, project, git, commit);
  const known = await readIndex(paths.contextIndex);
  return repositoryContext(git, commit, asked, config.context, known);
}

/** The issue or brief; in a bare repository, the issue in the commit. */
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
