import { createGoogle } from '@ai-sdk/google';
import type { CreateVendorCall } from './call.ts';

export const createCall: CreateVendorCall = ({ model, ...settings }) => ({ model: createGoogle(settings)(model) });
