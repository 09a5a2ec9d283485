import { AgentosError } from '../core/errors.ts';
import { ENDPOINT_VARIABLES, OFFICIAL_URLS, type VendorName } from '../core/keys.ts';

const VERSIONS: Record<VendorName, string> = {
  anthropic: 'v1',
  google: 'v1beta',
  openai: 'v1',
  'openai-compatible': 'v1',
};

/**
 * The prefix of all requests. Some vendors' own programs take base URLs without the version and some with it, so people
 * have both in their environment: it is added where it is missing. Compatible servers put their interface wherever they
 * like (`/api/paas/v4`, `/v1beta/openai`), so there it is added to a bare host only.
 */
export function vendorBaseUrl(vendor: VendorName, url: string | undefined): string {
  const version = VERSIONS[vendor];
  const given = url?.trim() || OFFICIAL_URLS[vendor];
  if (!given) {
    throw new AgentosError({
      code: 'usage',
      reason: `${vendor} has no base URL.`,
      hint: `Set ${placesOf(vendor)}.`,
    });
  }
  const parsed = URL.parse(given);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '') {
    throw new AgentosError({
      code: 'usage',
      reason: `The base URL of ${vendor} is not valid (${placesOf(vendor)}).`,
      hint: 'Write it as https://host/path, without a user name or password.',
    });
  }
  const path = parsed.pathname.replace(/\/+$/, '');
  const complete = vendor === 'openai-compatible' ? path !== '' : /\/v\d+[a-z]*\d*$/.test(path);
  return `${parsed.origin}${path}${complete ? '' : `/${version}`}`;
}

/** Where people set it. */
function placesOf(vendor: VendorName): string {
  const variable = ENDPOINT_VARIABLES[vendor];
  const setting = `endpoints.${vendor} in agentos.yaml`;
  return variable === undefined ? setting : `${variable}, or ${setting}`;
}
