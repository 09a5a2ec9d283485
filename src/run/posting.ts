import type { Project } from './project.ts';
import type { Publisher, PublisherOptions } from './publish.ts';

export type OpenPublisher = (options: Omit<PublisherOptions, 'project'>) => Publisher;

/** What writes to services for a run, where that was asked for; rejects where it can't be written. Other runs load none of it. */
export async function openPosting(project: Project): Promise<OpenPublisher | null> {
  const { comment, create, pr } = project.config.remote;
  if (!comment && !create && !pr.open) return null;
  const { createPublisher, requireWriting } = await import('./remote-work.ts');
  const tracker = await requireWriting(project);
  return (options) => createPublisher({ ...options, project }, tracker);
}

/** For what is still to be posted when the last item has ended. */
const POSTS_MS = 120_000;
const POSTS_AFTER_STOP_MS = 1_500;

export function patienceForPosts(stop: AbortSignal): number {
  return stop.aborted ? POSTS_AFTER_STOP_MS : POSTS_MS;
}
