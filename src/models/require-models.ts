import type { Config, Role } from '../core/config.ts';
import { AgentosError, type MissingKey } from '../core/errors.ts';
import { ENDPOINT_VARIABLES, keyVariables, type VendorName } from '../core/keys.ts';
import { isAgent, keyVendorOf, parseModelSpec } from '../core/model-spec.ts';
import { dearestPrice, priceOf } from '../core/money.ts';
import { proxyVariables } from '../core/proxy.ts';
import { vendorBaseUrl } from './endpoint.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws before anything starts if a model can't work; returns warnings. */
export function requireModels(config: Config, roles: readonly Role[]): string[] {
  const warnings = new Set<string>();
  const missing = new Map<string, MissingKey>();
  if (config.heldBack.length > 0)
    warnings.add(
      `passEnvironment names ${config.heldBack.join(', ')}: a key is never handed to agents, commands or tests.`,
    );
  for (const role of roles) {
    const spec = parseModelSpec(config.models[role]);
    const vendor = keyVendorOf(spec, config.ownLogins);
    if (vendor === null) continue;
    const { text } = spec;
    if (vendor === 'openai-compatible' && config.endpoints[vendor] === undefined) {
      throw new AgentosError({
        code: 'usage',
        reason: `${text} needs the address of its server.`,
        hint: 'Set endpoints.openai-compatible in agentos.yaml, e.g. http://127.0.0.1:11434/v1',
      });
    }
    const needsKey = vendor !== 'openai-compatible' || (config.keyVariables[vendor]?.length ?? 0) > 0;
    if (needsKey && !config.keys.some((key) => key.vendor === vendor)) {
      if (config.withheld.includes(vendor)) throw elsewhere(vendor, config.endpoints[vendor]);
      const variables = keyVariables(vendor, config.keyVariables[vendor]);
      const roles = missing.get(vendor)?.roles ?? [];
      missing.set(vendor, { provider: vendor, variables, roles: [...roles, role] });
    }
    // An agent chooses its model when it calls; the gateway counts the cost then.
    if (isAgent(spec) || priceOf(text, config.prices) !== null) continue;
    const known = dearestPrice(vendor, config.prices);
    warnings.add(
      known === null
        ? `The price of ${text} is not known: its cost is not counted. Add it under prices in agentos.yaml.`
        : `The price of ${text} is not known: limits count it at the dearest price of ${vendor}. Add it under prices in agentos.yaml.`,
    );
  }
  if (missing.size > 0) throw new AgentosError({ code: 'key-missing', missing: [...missing.values()] });
  return [...warnings];
}

/** There is a standard key, but the repository's configuration would send it to another host. */
function elsewhere(vendor: VendorName, address: string | undefined): AgentosError {
  const own = ENDPOINT_VARIABLES[vendor];
  return new AgentosError({
    code: 'usage',
    reason: `agentos.yaml sends requests for ${vendor} to ${URL.parse(address ?? '')?.host ?? 'another host'}, where a vendor's standard key does not go.`,
    hint: `Name a variable with a key of its own under keys.${vendor}${own === undefined ? '' : `, or set ${own} yourself`}.`,
  });
}

/**
 * Throws if no call could be made with these settings, or a cost limit could not be enforced. It does not depend on the items, so a
 * dry run finds the problem too.
 */
export function requireSettings(config: Config, env: Environment, roles: readonly Role[]): void {
  for (const role of roles) {
    const spec = parseModelSpec(config.models[role]);
    const vendor = keyVendorOf(spec, config.ownLogins);
    if (vendor === null) continue;
    proxyVariables(env);
    if (config.endpoints[vendor] !== undefined) vendorBaseUrl(vendor, config.endpoints[vendor]);
    if (!config.bounds.hasChosenCostLimit || dearestPrice(vendor, config.prices) !== null) continue;
    throw new AgentosError({
      code: 'usage',
      reason: `No price of ${vendor} is known, so ${spec.text} can't be kept within a cost limit.`,
      hint: `Add it to agentos.yaml under prices, e.g. "${spec.text}": { input: 3, output: 15 } (USD per million tokens).`,
    });
  }
}
