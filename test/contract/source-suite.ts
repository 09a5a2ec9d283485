import { describe, expect, test } from 'vitest';
import { codeOf } from '../../src/core/errors.ts';
import { parseItemId } from '../../src/core/ids.ts';
import { DEFAULT_LABEL, type Selection } from '../../src/core/remote.ts';
import type { HostOptions } from '../../src/host/client.ts';
import type { IssueSource } from '../../src/source/port.ts';
import type { HostServer } from '../support/hosts/server.ts';

/** An issue as every service has it. */
export interface GivenIssue {
  number: number;
  title?: string;
  body?: string;
  isOpen?: boolean;
  isLocked?: boolean;
  labels?: string[];
  /** Not a member. */
  isStrangers?: boolean;
  milestone?: string;
  assignee?: string;
  blockedBy?: number[];
  updatedAt?: string;
}

export interface GivenPull {
  number: number;
  closes: number;
  state: 'open' | 'merged';
  mergedAt?: string;
  /** From a fork, by a person who is not a member. */
  isStrangers?: boolean;
}

/** A service on loopback, and what can happen on it. */
export interface GivenHost {
  server: HostServer;
  issue(issue: GivenIssue): void;
  comment(issue: number, body: string, by: 'member' | 'stranger'): void;
  label(issue: number, by: 'member' | 'stranger', at: string): void;
  edit(issue: number, by: 'member' | 'stranger', at: string): void;
  reopen(issue: number, at: string): void;
  pull(pull: GivenPull): void;
  source(select: Partial<Selection>, options?: Pick<HostOptions, 'maxWaitMs' | 'onWait'>): IssueSource;
}

const id = (number: number) => parseItemId(String(number));
const EARLY = '2026-03-02T10:00:00Z';
const LATE = '2026-03-02T11:00:00Z';
const LAST = '2026-03-02T12:00:00Z';

export const SELECTION: Selection = {
  labels: [DEFAULT_LABEL],
  milestone: null,
  assignee: null,
  query: null,
  limit: null,
};

/** What every source on a service has to hold to. */
export function sourceSuite(name: string, open: () => Promise<GivenHost>): void {
  describe(`issues of ${name}`, () => {
    test('those that are selected, open and not locked are items, over all pages, 2 before 10', async () => {
      const host = await open();
      for (let number = 130; number >= 1; number--) host.issue({ number });
      host.issue({ number: 2, isOpen: false });
      host.issue({ number: 3, isLocked: true });
      host.issue({ number: 4, labels: ['other'] });
      host.issue({ number: 5, milestone: 'v1', assignee: 'mia' });
      host.issue({ number: 6, milestone: 'v1' });
      host.issue({ number: 7, labels: ['other', 'ready'] });
      host.issue({ number: 8, title: 'the needle' });
      const ids = (select: Partial<Selection>) => host.source(select).ids();
      const all = await ids({});
      expect(all).toHaveLength(126);
      expect(all.slice(0, 3)).toEqual(['1', '5', '6']);
      expect(all.at(-1)).toBe('130');
      expect(await ids({ milestone: 'v1' })).toEqual(['5', '6']);
      expect(await ids({ milestone: 'v1', assignee: 'mia' })).toEqual(['5']);
      expect(await ids({ labels: ['other', 'ready'] })).toEqual(['7']);
      expect(await ids({ labels: [], query: 'needle' })).toEqual(['8']);
      expect(await ids({ limit: 2 })).toHaveLength(2);
    });

    test('one that is named and no item says why', async () => {
      const host = await open();
      host.issue({ number: 1, isOpen: false });
      host.issue({ number: 2, isLocked: true });
      const source = host.source({});
      const why = (number: number) =>
        source.read(id(number)).catch((error: unknown) => (error as { problem: unknown }).problem);
      expect(await why(1)).toMatchObject({ code: 'issue-not-taken', why: 'closed' });
      expect(await why(2)).toMatchObject({ code: 'issue-not-taken', why: 'locked' });
      expect(await why(9)).toMatchObject({ code: 'issue-missing' });
      await expect(source.read(parseItemId('dark-mode')).catch(codeOf)).resolves.toBe('issue-missing');
    });

    test('its text is what people see: title, body and the comments of members', async () => {
      const host = await open();
      host.issue({
        number: 1,
        title: 'Add\u0007 a \u202Enumber',
        body: 'Wanted.\r\n<!-- hidden -->\n`<!-- shown -->`\u{E0041}',
      });
      const source = host.source({});
      const before = await source.read(id(1));
      expect(before).toMatchObject({ title: 'Add a number', body: 'Wanted.\n\n`<!-- shown -->`' });
      host.comment(1, 'Not mine.', 'stranger');
      host.comment(1, '<!-- agentos:item 1 -->\nour own', 'member');
      host.comment(1, '/agentos revise shorter, please', 'member');
      host.comment(1, '/agentos approve', 'stranger');
      const same = await source.read(id(1));
      expect(same.hash).toBe(before.hash);
      expect(same.facts).toMatchObject({
        comments: { used: [], leftOut: 1 },
        commands: [{ kind: 'revise', text: 'shorter, please' }],
        ignoredCommands: 1,
      });
      host.comment(1, 'Negative\n# numbers too', 'member');
      const after = await source.read(id(1));
      expect(after.hash).not.toBe(before.hash);
      expect(after.body).toMatch(/^Comment by \w+, 2026-03-01:\n\n> Negative\n> # numbers too$/m);
      expect(after.facts?.comments.used).toHaveLength(1);
    });

    test('a label vouches for the text that was there when a member set it', async () => {
      const host = await open();
      for (const number of [1, 2, 3, 4, 5, 6]) host.issue({ number, isStrangers: number > 1, updatedAt: LAST });
      host.issue({ number: 7, isStrangers: true, labels: [] });
      host.edit(1, 'member', LATE);
      host.label(2, 'member', LAST);
      host.label(3, 'member', EARLY);
      host.edit(3, 'member', LATE);
      host.label(4, 'member', EARLY);
      host.edit(4, 'stranger', LATE);
      host.label(5, 'stranger', LAST);
      host.label(6, 'member', EARLY);
      host.edit(6, 'stranger', LATE);
      host.label(6, 'member', LAST);
      const source = host.source({});
      await source.ids();
      const doubt = async (number: number) => (await source.read(id(number))).facts?.doubt ?? null;
      expect([await doubt(1), await doubt(2), await doubt(3), await doubt(6)]).toEqual([null, null, null, null]);
      expect(await doubt(4)).toContain('changed its text after the label was set');
      expect(await doubt(5)).toContain('no trusted person set its label');
      // A person named it, and so vouches for it.
      expect(await doubt(7)).toBeNull();
      const unlabelled = host.source({ labels: [], query: 'Issue' });
      await unlabelled.ids();
      expect((await unlabelled.read(id(7))).facts?.doubt).toContain('no label vouches');
    });

    test('one that lost its label since it was listed is no item any more', async () => {
      const host = await open();
      host.issue({ number: 1 });
      const source = host.source({});
      await source.ids();
      host.issue({ number: 1, labels: [] });
      await expect(source.read(id(1))).rejects.toMatchObject({ problem: { why: 'unlabelled' } });
    });

    test('open issues that it is blocked by are named, closed ones are not', async () => {
      const host = await open();
      host.issue({ number: 1 });
      host.issue({ number: 2, isOpen: false });
      host.issue({ number: 3, blockedBy: [1, 2] });
      expect((await host.source({}).read(id(3))).facts?.blockedBy).toEqual(['#1']);
    });

    test('a pull request answers it: merged, or open and not a stranger’s; unless it was opened again since', async () => {
      const host = await open();
      for (const number of [1, 2, 3, 4]) host.issue({ number });
      host.pull({ number: 11, closes: 1, state: 'open' });
      host.pull({ number: 12, closes: 2, state: 'merged', mergedAt: EARLY });
      host.pull({ number: 13, closes: 3, state: 'open', isStrangers: true });
      host.pull({ number: 14, closes: 4, state: 'merged', mergedAt: EARLY });
      host.reopen(4, LATE);
      const source = host.source({});
      const answers = async (number: number) =>
        (await source.read(id(number))).facts?.answeredBy.map((one) => `${one.number} ${one.state}`);
      expect(await answers(1)).toEqual(['11 open']);
      expect(await answers(2)).toEqual(['12 merged']);
      expect(await answers(3)).toEqual([]);
      expect(await answers(4)).toEqual([]);
    });

    test('a poll with nothing new is one request without an answer; with something new its mark is another', async () => {
      const host = await open();
      host.issue({ number: 1 });
      const source = host.source({});
      const mark = await source.poll();
      const asked = host.server.requests.length;
      expect(await source.poll()).toBe(mark);
      expect(host.server.requests.slice(asked).map(({ status }) => status)).toEqual([304]);
      host.issue({ number: 2 });
      expect(await source.poll()).not.toBe(mark);
    });

    test('a limit is waited for and shown; one that lasts too long is an error', async () => {
      const host = await open();
      host.issue({ number: 1 });
      const shown: string[] = [];
      const limited = (seconds: string): void =>
        host.server.fail('GET', /\/issues$/, { status: 429, headers: { 'retry-after': seconds }, body: {} });
      const source = host.source({}, { maxWaitMs: 5_000, onWait: (text) => void shown.push(text) });
      limited('1');
      expect(await source.ids()).toEqual(['1']);
      expect(shown).toEqual([expect.stringMatching(new RegExp(`^${name}: the rate limit is reached, waiting \\d`))]);
      limited('60');
      expect(await source.ids().catch(codeOf)).toBe('host-limited');
      expect(shown).toHaveLength(1);
    });

    test('an answer that is cut off, empty or of another form is an error, never an empty list', async () => {
      const host = await open();
      host.issue({ number: 1 });
      const code = () => host.source({}).ids().catch(codeOf);
      for (const fault of [
        'half',
        'cut-before',
        { body: undefined },
        { body: { message: 'x' } },
        { status: 502 },
      ] as const) {
        host.server.fail('GET', /\/issues$/, fault);
        expect({ fault, code: await code() }).toEqual({ fault, code: 'host-unreachable' });
      }
      host.server.fail('GET', /\/issues$/, { headers: { link: '<http://127.0.0.2:9/>; rel="next"' }, body: [] });
      expect(await code()).toBe('host-unreachable');
      host.server.fail('GET', /\/issues$/, { status: 403, body: { message: 'no' } });
      expect(await code()).toBe('host-scope-missing');
      host.server.fail('GET', /\/issues$/, { status: 409, body: { message: 'busy' } });
      expect(await code()).toBe('host-refused');
    });
  });
}
