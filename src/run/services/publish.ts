import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentosEvent, ItemFinished } from '../../core/events.ts';
import { isFailure } from '../../core/exit-code.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import type { Item } from '../../core/item.ts';
import type { WorkflowName } from '../../core/paths.ts';
import type { RunState } from '../../core/run-state.ts';
import { messageOf, wordingOf } from '../../core/wording.ts';
import type { Posted, StateLabel, Tracker } from '../../forge/port.ts';
import { commentMarker, writeIssueComment } from '../../forge/texts.ts';
import type { Issue } from '../../source/port.ts';
import type { ItemInput } from '../../worker/adapters.ts';
import type { TaskResult } from '../../worker/protocol.ts';
import type { Project } from '../project.ts';
import { waitingItem } from '../standing/waiting-item.ts';
import { createIssue } from './created-issue.ts';
import { type Posting, postOnce } from './posts.ts';
import { openLandingRequest, openPullRequest } from './pull-request.ts';
import { finishReaction } from './reactions.ts';

interface PublisherOptions {
  runId: string;
  state: RunState;
  onNotice: (item: Item, text: string) => void;
  onWarning: (text: string) => void;
  /** What the worker of an item got. */
  inputOf: (item: Item) => Pick<ItemInput, 'landing' | 'reaction'> | undefined;
}

const PATIENT_MS = 120_000;
const HURRIED_MS = 1_500;

/** What the comment shows for a running item. */
const STATES: ReadonlyMap<WorkflowName, { state: string; label: StateLabel }> = new Map([
  ['lld', { state: 'it is being designed', label: 'agentos:designing' }],
  ['implement', { state: 'it is being implemented', label: 'agentos:implementing' }],
  ['react', { state: 'its pull request is being revised', label: 'agentos:implementing' }],
]);

interface Shown extends Pick<Parameters<typeof writeIssueComment>[0], 'state' | 'reason' | 'question'> {
  /** Undefined: the label stays unchanged. */
  label?: StateLabel | null;
}

/** What the comment shows for an item that ended. `isPosted`: its pull request is open. */
function shownAtEnd(
  { status, reason, error, workflow }: ItemFinished & { workflow: WorkflowName },
  isPosted: boolean,
  question: Shown['question'],
): Shown {
  if (status === 'discuss') return { reason, state: 'waiting for a person', label: 'agentos:waiting', question };
  const plain = { reason, question: null };
  if (isFailure(status)) {
    const why = error === null ? reason : wordingOf(error.problem).message;
    return { ...plain, state: `failed (${status})`, reason: why, label: 'agentos:failed' };
  }
  if (isPosted || workflow === 'react')
    return { ...plain, state: 'a pull request is open', reason: null, label: 'agentos:pr' };
  if (status === 'skipped') return { ...plain, state: 'nothing to do', label: null };
  if (status !== 'succeeded') return { ...plain, state: 'stopped; the next run resumes it' };
  return {
    ...plain,
    state: workflow === 'implement' ? 'implemented on a branch' : 'the design is approved',
    label: null,
  };
}

export type Publisher = ReturnType<typeof createPublisher>;
export type OpenPublisher = (options: PublisherOptions) => Publisher;

/** Rejects before anything is paid for if something could not be written. */
export async function openPublisher(project: Project): Promise<OpenPublisher> {
  const { comment, create, pr } = project.config.remote;
  const tracker = comment || create ? await project.hosts.tracker() : null;
  await tracker?.requireWrite();
  if (pr.open) await (await project.hosts.forge()).requireWrite();
  return (options) => createPublisher(project, options, comment ? tracker : null);
}

/** Writes to services for a run. Only the parent has one, because no worker holds a token. */
function createPublisher(
  project: Project,
  { runId, state, onNotice, onWarning, inputOf }: PublisherOptions,
  tracker: Tracker | null,
) {
  const { paths, config, mask } = project;
  const requests = new Map<string, Awaited<ReturnType<typeof openPullRequest>>>();
  const latest = new Map<ItemId, { shown: Shown; posted: Promise<void> }>();
  const pending = new Set<Promise<void>>();

  /** Never rejects: a post that failed is a warning, because the paid work is done. */
  function follow(work: Promise<unknown>, failure: string): Promise<void> {
    const settled = work.then(
      () => undefined,
      (error: unknown) => onWarning(mask(`${failure}: ${messageOf(error)}`)),
    );
    pending.add(settled);
    void settled.then(() => pending.delete(settled));
    return settled;
  }

  /** Skips a state that was replaced before its turn came. */
  function show(id: ItemId, shown: Shown): void {
    if (tracker === null) return;
    const before = latest.get(id)?.posted ?? Promise.resolve();
    const work = before.then(() => (latest.get(id)?.shown === shown ? post(tracker, id, shown) : undefined));
    latest.set(id, { shown, posted: follow(work, `the comment on ${id} is not up to date`) });
  }

  async function post(to: Tracker, id: ItemId, { label, ...shown }: Shown): Promise<void> {
    const lld = paths.lld(id);
    const text = writeIssueComment({
      ...shown,
      id,
      runId,
      design: existsSync(lld) ? relative(paths.repository, lld) : null,
      pullRequest: requests.get(id) ?? null,
      costUsd: state.items.get(id)?.costUsd ?? null,
    });
    await stick(to, id, mask(text));
    if (label !== undefined) await to.setState(id, label);
  }

  /** Sets the text of the item's one comment, and creates it if it is missing. */
  async function stick(to: Tracker, id: ItemId, text: string): Promise<void> {
    for (let gone: string | null = null; ; ) {
      let isNew = false;
      const add = async (): Promise<Posted> => {
        const made = await to.addComment(id, text);
        isNew = true;
        return made;
      };
      const inputs: object = { on: to.location, id, gone };
      const there = () => to.findComment(id, commentMarker(id));
      const { id: comment }: Posted = await postOnce<Posted>(paths, id, { name: 'comment', inputs }, add, there);
      if (isNew || gone === comment || (await to.editComment(id, comment, text))) return;
      gone = comment;
    }
  }

  async function land(posting: Posting, branch: string | null): Promise<string | null> {
    const { id } = posting;
    const landing = inputOf({ workflow: 'land', id })?.landing;
    if (landing === undefined || branch === null) return null;
    return openLandingRequest(posting, landing, branch, state.items.get(id)?.parts);
  }

  function onFinished(event: ItemFinished & { workflow: WorkflowName }, posting: Posting): void {
    const { workflow, attempts, error, goesOnWith } = event;
    const { id } = posting;
    if (workflow === 'land') {
      // An incomplete landing gets a pull request too, for what is on its branch.
      if (!config.remote.pr.open || error?.problem.code !== 'landing-incomplete') return;
      const { branch } = error.problem;
      void follow(land(posting, branch), `no pull request was opened for ${branch}`);
    }
    const isPosted = requests.has(id);
    if (!STATES.has(workflow) || goesOnWith !== undefined || (attempts === 0 && !isPosted)) return;
    const asked = event.status === 'discuss' ? waitingItem(paths, id, [workflow]) : null;
    show(id, shownAtEnd(event, isPosted, asked?.question ?? null));
  }

  /** Called between an item's result and its end: opens its pull request, for example. */
  async function complete(item: Item, result: TaskResult, signal: AbortSignal): Promise<TaskResult> {
    const { create, pr } = config.remote;
    const { workflow, id } = item;
    const posting = postingFor(item, signal);
    const isDone = result.status === 'succeeded' || result.status === 'skipped';
    const withOutput = (url: string): TaskResult => ({ ...result, outputs: [...result.outputs, url] });
    if (create && workflow === 'issue') return createIssue(project, id, result);
    if (workflow === 'react') {
      const reaction = inputOf(item)?.reaction;
      if (reaction === undefined || result.reaction === undefined) return result;
      await finishReaction(posting, reaction, result.reaction);
      return withOutput(reaction.url);
    }
    if (!pr.open) return result;
    if (workflow === 'land') {
      const url = await land(posting, result.outputs[0] ?? null);
      return url === null ? result : withOutput(url);
    }
    const request = workflow === 'implement' && isDone ? await openPullRequest(posting) : null;
    if (request === null) return result;
    requests.set(id, request);
    return { ...withOutput(request.url), status: 'succeeded', reason: null };
  }

  function postingFor(item: Item, signal = new AbortController().signal): Posting {
    return { project, id: item.id, say: (text) => onNotice(item, text), signal };
  }

  return {
    /** Follows the items. */
    subscriber: (event: AgentosEvent): void => {
      if (!('item' in event)) return;
      const { workflow, item } = event;
      const id = parseItemId(item);
      const running = STATES.get(workflow);
      if (event.type === 'item-started' && running) show(id, { ...running, reason: null, question: null });
      else if (event.type === 'item-finished') onFinished(event, postingFor({ workflow, id }));
    },
    /** An item starts with this text. */
    read(id: ItemId, { facts }: Issue): void {
      if (tracker === null || facts === undefined) return;
      for (const comment of [...facts.comments.used, ...facts.commands.map((command) => command.id)]) {
        const read = postOnce(paths, `${id}.read`, { name: 'read', inputs: { comment } }, () =>
          tracker.markRead(id, comment),
        );
        void follow(read, `a comment on ${id} is not marked as read`);
      }
    },
    complete,
    /** Resolves when everything is posted, or after a while; after a stop the program has to end soon. */
    async close(stop: AbortSignal): Promise<void> {
      const late = sleep(stop.aborted ? HURRIED_MS : PATIENT_MS, 'late', { ref: false });
      if ((await Promise.race([Promise.all(pending), late])) === 'late')
        onWarning('not everything was posted in time: the next run posts it');
    },
  };
}
