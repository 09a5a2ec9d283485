export { configJsonSchema } from './core/config-schema.ts';
