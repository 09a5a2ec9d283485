import { bodyHash, readFrontMatter, writeFrontMatter } from '../lld/front-matter.ts';
import { withStatus } from '../lld/status.ts';

const IMPLEMENTED = 'implemented';

/**
 * The LLD as it stands on the branch that implements it. `implementedHash` is the hash of the body that was approved: by it
 * the same design is recognised elsewhere. All other fields stay, in their order. Doing it again changes nothing.
 */
export function implementedLld(text: string, { branch, report }: { branch: string; report: string }): string {
  const { fields, body } = readFrontMatter(text);
  const approved = fields['bodyHash'] === bodyHash(body) ? implementedHashOf(text) : null;
  const implemented = withStatus(body, 'Implemented');
  return writeFrontMatter(implemented, {
    ...fields,
    status: IMPLEMENTED,
    bodyHash: bodyHash(implemented),
    implementedHash: approved ?? bodyHash(body),
    branch,
    report,
  });
}

/** The hash of the approved body that this LLD says is implemented; null if it says nothing of the kind. */
export function implementedHashOf(text: string): string | null {
  const { fields } = readFrontMatter(text);
  const hash = fields['implementedHash'];
  return fields['status'] === IMPLEMENTED && typeof hash === 'string' ? hash : null;
}
