/*
 * Runs these files as one, so that they share a gateway for each number of replicas: a start takes 2 s of processor
 * time, and loading the services 1 s. Each also runs alone, by its path. Those that leave requests to a provider for
 * later come last, since others look at the latest one.
 */
import '../conformance/openai-schema.test.ts';
import '../conformance/openai-sdk.test.ts';
import '../conformance/openai-sdk-errors.test.ts';
import '../conformance/openai-sdk-aborts.test.ts';
import '../conformance/every-pair.test.ts';
import '../conformance/anthropic-sdk-counts.test.ts';
import './limits.test.ts';
import './authorisation.test.ts';
import './bad-input.test.ts';
import './idempotency.test.ts';
import './relay.test.ts';
import './csv-lists.test.ts';
import './large-lists.test.ts';
import './models.test.ts';
import './revocation.test.ts';
import './sessions.test.ts';
import './analytics.test.ts';
import './own-keys.test.ts';
import './webhooks.test.ts';
import './command-line.test.ts';
import './declarations.test.ts';
import './device-login.test.ts';
import './memory-in-turns.test.ts';
