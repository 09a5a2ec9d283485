import { AgentosError, type Problem, toErrorRecord } from '../core/errors.ts';
import { createDirectorySource } from './directory.ts';
import type { IssueSource } from './port.ts';

/** Idea briefs as text files in one folder of the repository, `briefs/<slug>.md`; what goes wrong is said of a brief. */
export function createBriefSource(directory: string): IssueSource {
  const source = createDirectorySource(directory);
  return {
    location: source.location,
    ids: () => source.ids().catch(refuse),
    read: (id) => source.read(id).catch(refuse),
  };
}

function refuse(error: unknown): never {
  const { problem, retry } = toErrorRecord(error);
  const ofBrief = problemOfBrief(problem);
  if (ofBrief === null) throw error;
  throw new AgentosError(ofBrief, { retry, cause: error });
}

function problemOfBrief(problem: Problem): Problem | null {
  switch (problem.code) {
    case 'source-missing':
      return { ...problem, code: 'briefs-missing' };
    case 'issue-missing':
      return { ...problem, code: 'brief-missing' };
    case 'issue-unreadable':
      return { ...problem, code: 'brief-unreadable' };
    default:
      return null;
  }
}
