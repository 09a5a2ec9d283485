import type { Selection } from '../../src/core/remote.ts';
import { createGitHubSource } from '../../src/source/github.ts';
import { createGitLabSource } from '../../src/source/gitlab.ts';
import { type FakeGitHub, fakeGitHub, TOKEN } from '../support/hosts/github.ts';
import { EVE, fakeGitLab, GITLAB_TOKEN, OLIVIA } from '../support/hosts/gitlab.ts';
import { connect } from '../support/hosts/server.ts';
import { SELECTION, sourceSuite } from './source-suite.ts';

const selection = (select: Partial<Selection>): Selection => ({ ...SELECTION, ...select });

sourceSuite('GitHub', async () => {
  const github = await fakeGitHub();
  const events = (number: number): Record<string, unknown>[] => {
    const known = github.events.get(number) ?? [];
    github.events.set(number, known);
    return known;
  };
  const stranger = { user: { login: 'eve', type: 'User' }, author_association: 'NONE' };
  return {
    server: github,
    issue({
      number,
      title,
      body,
      isOpen = true,
      isLocked = false,
      labels = ['agentos'],
      isStrangers,
      milestone,
      assignee,
      blockedBy = [],
      updatedAt,
    }) {
      github.issue({
        number,
        title: title ?? `Issue ${number}`,
        body: body ?? '',
        state: isOpen ? 'open' : 'closed',
        locked: isLocked,
        labels: labels.map((name) => ({ name })),
        ...(isStrangers ? stranger : {}),
        milestone: milestone === undefined ? null : { number: 7, title: milestone },
        assignee: assignee === undefined ? null : { login: assignee },
        blockedBy,
        ...(updatedAt === undefined ? {} : { updated_at: updatedAt }),
      });
    },
    comment: (issue, body, by) =>
      void (by === 'member'
        ? github.comment(issue, body, 'mia', 'MEMBER')
        : github.comment(issue, body, 'eve', 'NONE')),
    label: (issue, by, at) => github.label(issue, 'agentos', by === 'member' ? 'olivia' : 'eve', at),
    edit(issue, by, at) {
      const edits: FakeGitHub['edits'] = github.edits;
      edits.set(issue, [
        ...(edits.get(issue) ?? []),
        { editedAt: at, editor: { login: by === 'member' ? 'olivia' : 'eve' } },
      ]);
    },
    reopen: (issue, at) => void events(issue).push({ event: 'reopened', created_at: at, actor: { login: 'olivia' } }),
    pull({ number, closes, state, mergedAt = null, isStrangers }) {
      const body = `Fixes: #${closes}`;
      const facts = {
        number,
        body,
        merged_at: mergedAt,
        state: state === 'open' ? ('open' as const) : ('closed' as const),
      };
      const fork = { ref: 'x', sha: '0'.repeat(40), repo: { full_name: 'eve/widget' }, label: 'eve:x' };
      // Found by its text among the latest, or by the history of the issue.
      if (number % 2 === 1) github.pull({ ...facts, ...(isStrangers ? { head: fork, ...stranger } : {}) });
      else {
        const issue = {
          ...github.issue({ number, body, labels: [] }),
          state: facts.state,
          pull_request: { merged_at: mergedAt },
        };
        github.issues.delete(number);
        const source = { issue: { ...issue, html_url: `https://github.com/acme/widget/pull/${number}` } };
        events(closes).push({ event: 'cross-referenced', created_at: mergedAt, source });
      }
    },
    source: (select, more) =>
      createGitHubSource(
        connect('acme/widget', { host: 'github', apiUrl: github.url, token: TOKEN, ...more }),
        selection(select),
      ),
  };
});

sourceSuite('GitLab', async () => {
  const gitlab = await fakeGitLab();
  const personOf = (by: 'member' | 'stranger') => (by === 'member' ? OLIVIA : EVE);
  return {
    server: gitlab,
    issue({
      number,
      title,
      body,
      isOpen = true,
      isLocked = false,
      labels = ['agentos'],
      isStrangers,
      milestone,
      assignee,
      blockedBy = [],
      updatedAt,
    }) {
      gitlab.issue({
        iid: number,
        title: title ?? `Issue ${number}`,
        description: body ?? '',
        state: isOpen ? 'opened' : 'closed',
        discussion_locked: isLocked,
        labels,
        author: isStrangers ? EVE : OLIVIA,
        milestone: milestone === undefined ? null : { title: milestone },
        assignee: assignee === undefined ? null : { username: assignee },
        blockedBy,
        ...(updatedAt === undefined ? {} : { updated_at: updatedAt }),
      });
    },
    comment: (issue, body, by) => void gitlab.note(issue, body, personOf(by)),
    label: (issue, by, at) =>
      void gitlab.labelEvents.push({
        issue,
        user: personOf(by),
        created_at: at,
        action: 'add',
        label: { name: 'agentos' },
      }),
    edit: (issue, by, at) => void gitlab.note(issue, 'changed the description', personOf(by), true, at),
    reopen: (issue, at) => void gitlab.stateEvents.push({ issue, state: 'reopened', created_at: at }),
    pull: ({ number, closes, state, mergedAt = null, isStrangers }) =>
      void gitlab.merge({
        iid: number,
        closes: [closes],
        state: state === 'open' ? 'opened' : 'merged',
        merged_at: mergedAt,
        ...(isStrangers ? { author: EVE, source_project_id: 99 } : {}),
      }),
    source: (select, more) =>
      createGitLabSource(
        connect('acme/tools/widget', { host: 'gitlab', apiUrl: `${gitlab.url}/api/v4`, token: GITLAB_TOKEN, ...more }),
        selection(select),
      ),
  };
});
