import type { Headers } from './headers.ts';
import type { Route } from './route.ts';
import type { Grant } from './token.ts';
import type { RequestFacts } from './vendors/format.ts';

/** One request of a caller, read and let in. */
export interface Call {
  grant: Grant;
  route: Route;
  facts: RequestFacts;
  method: string;
  /** At the vendor, without any key. */
  url: URL;
  headers: Headers;
  body: Buffer | null;
  /** The gateway asked for the usage in the caller's stead, so the caller doesn't see it. */
  hidesUsage: boolean;
}
