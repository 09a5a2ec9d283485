import type { ErrorRecord } from '../core/errors.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/money.ts';

/** Where whoever holds an item's token reads its account: GET, on the gateway itself. */
export const ACCOUNT_PATH = '/agentos/account';

/** What an item's calls came to so far, for those that see them only from the outside: what ran between two looks used the difference. */
export interface Account {
  usage: Usage;
  /** Of the calls whose price and usage are known. */
  costUsd: number;
  /** Calls that cost something nobody can tell. */
  unpriced: number;
  /** Calls that a vendor answered. */
  calls: number;
  /** Calls under way, those that wait for a key too. The gateway bounds them, so that silence meanwhile is no idleness. */
  inFlight: number;
  /** The model of the last good answer. */
  answered: string | null;
  /** Calls that came to no answer. */
  refusals: number;
  /** Why the last of them did not; null when a good answer came after it. */
  refusal: ErrorRecord | null;
}

/** How a call for an answer ended. */
export interface CallEnd {
  usage: Usage | null;
  /** Null: not known. */
  costUsd: number | null;
  answered: string | null;
  /** The vendor began to answer. */
  begun: boolean;
  /** And came to a good end. */
  good: boolean;
  refusal: ErrorRecord | null;
}

export interface Accounts {
  begin(item: string): void;
  /** Once for each `begin`; null for a call that asks for no answer, such as one that counts tokens. */
  end(item: string, call: CallEnd | null): void;
  of(item: string): Account;
}

export function createAccounts(): Accounts {
  const accounts = new Map<string, Account>();
  const of = (item: string): Account => accounts.get(item) ?? EMPTY;
  return {
    of,
    begin(item) {
      const account = of(item);
      accounts.set(item, { ...account, inFlight: account.inFlight + 1 });
    },
    end(item, call) {
      const account = of(item);
      accounts.set(item, {
        ...account,
        ...(call === null ? {} : added(account, call)),
        inFlight: account.inFlight - 1,
      });
    },
  };
}

const EMPTY: Account = {
  usage: NO_USAGE,
  costUsd: 0,
  unpriced: 0,
  calls: 0,
  inFlight: 0,
  answered: null,
  refusals: 0,
  refusal: null,
};

function added(account: Account, { usage, costUsd, answered, begun, good, refusal }: CallEnd): Partial<Account> {
  return {
    usage: addUsage(account.usage, usage ?? NO_USAGE),
    costUsd: account.costUsd + (costUsd ?? 0),
    unpriced: account.unpriced + (costUsd === null ? 1 : 0),
    calls: account.calls + (begun ? 1 : 0),
    answered: good ? (answered ?? account.answered) : account.answered,
    refusals: account.refusals + (refusal === null ? 0 : 1),
    refusal: refusal ?? (good ? null : account.refusal),
  };
}
