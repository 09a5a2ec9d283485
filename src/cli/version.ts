declare const AGENTOS_VERSION: string | undefined;

/** Set by the build; the tests run the sources too. */
export const version = typeof AGENTOS_VERSION === 'string' ? AGENTOS_VERSION : '0.0.0-source';
