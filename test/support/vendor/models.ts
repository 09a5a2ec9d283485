import type { VendorName } from './dialect.ts';

/** The list of models in the vendor's format, or one of them. */
export function modelsBody(vendor: VendorName, models: string[], one: string | null): unknown {
  const describe = describer(vendor);
  if (one !== null) return describe(one);
  const data = models.map(describe);
  if (vendor === 'google') return { models: data };
  if (vendor === 'anthropic') {
    return { data, has_more: false, first_id: models[0] ?? null, last_id: models.at(-1) ?? null };
  }
  return { object: 'list', data };
}

function describer(vendor: VendorName): (id: string) => unknown {
  switch (vendor) {
    case 'anthropic':
      return (id) => ({ type: 'model', id, display_name: id, created_at: '2026-01-01T00:00:00Z' });
    case 'google':
      return (id) => ({
        name: `models/${id}`,
        version: '001',
        displayName: id,
        inputTokenLimit: 1_048_576,
        outputTokenLimit: 65_536,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
      });
    case 'openai-chat':
    case 'openai-responses':
      return (id) => ({ id, object: 'model', created: 1_767_225_600, owned_by: 'loopback' });
  }
}
