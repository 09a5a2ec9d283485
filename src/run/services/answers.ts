import { toErrorRecord } from '../../core/errors.ts';
import { type ItemId, isItemId } from '../../core/ids.ts';
import { oneLine } from '../../core/lines.ts';
import { explanationOf } from '../../core/wording.ts';
import { namesIn } from '../../process/files.ts';
import type { IssueCommand } from '../../source/port.ts';
import type { Project } from '../project.ts';
import { decide, type Word } from '../standing/decide.ts';
import { waitingItem } from '../standing/waiting-item.ts';

/**
 * Takes the answers of trusted people in comments (`/agentos approve`) as decisions on waiting items. Only answers after the
 * question count, and of several the last one. Returns lines for people; a dry run records nothing.
 */
export async function takeAnswers(
  project: Project,
  ids: readonly ItemId[] | 'all',
  isDryRun: boolean,
): Promise<string[]> {
  const { paths, source, config } = project;
  if (config.remote.source === null) return [];
  const begun = (await namesIn(paths.checkpoints)).flatMap((name) => {
    const id = /^(?:lld|implement|react)-(.+)\.db$/.exec(name)?.[1] ?? '';
    return isItemId(id) && (ids === 'all' || ids.includes(id)) ? [id] : [];
  });
  const lines: string[] = [];
  for (const id of new Set(begun)) {
    const waiting = waitingItem(paths, id);
    if (waiting === null) continue;
    // The plan reports an issue that is closed, for example.
    const facts = await source.read(id).then(
      (issue) => issue.facts,
      () => undefined,
    );
    const since = Math.max(Date.parse(waiting.askedAt), Date.parse(waiting.decidedAt ?? '') || 0);
    const answer = facts?.commands.findLast(({ at }) => Date.parse(at) > since);
    if (answer !== undefined) lines.push(await taken(project, id, answer, isDryRun));
    if ((facts?.ignoredCommands ?? 0) > 0)
      lines.push(`${id}: ${facts?.ignoredCommands} answer(s) of people who are not members are ignored.`);
  }
  return lines;
}

async function taken(project: Project, id: ItemId, answer: IssueCommand, isDryRun: boolean): Promise<string> {
  const said = `${id}: /agentos ${answer.kind} by ${oneLine(answer.by)}`;
  if (answer.kind === 'revise' && answer.text.trim() === '')
    return `${said} is not taken: it does not say what to change.`;
  if (isDryRun) return `${said} would be taken.`;
  try {
    await decide(project, id, wordOf(answer), { by: `${oneLine(answer.by)} <${answer.url}>`, at: answer.at });
    return `${said} is taken.`;
  } catch (error) {
    return `${said} is not taken: ${explanationOf(toErrorRecord(error).problem)}`;
  }
}

function wordOf({ kind, text }: IssueCommand): Word {
  const words = text.trim() || null;
  return kind === 'revise' ? { kind, reason: null, change: words } : { kind, reason: words, change: null };
}
