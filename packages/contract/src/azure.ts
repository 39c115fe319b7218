import { z } from 'zod';
import { modelList, routes as modelRoutes } from './chat.ts';
import { routes as openaiRoutes } from './openai.ts';
import { routes as responseRoutes } from './responses.ts';
import { ok, route, type Examples, type Route } from './route.ts';

/**
 * The paths of Azure OpenAI: the same routes elsewhere. A deployment is a model of the catalogue or an agent, and
 * `api-version` is accepted and ignored.
 */

const query = z.looseObject({
  'api-version': z.string().max(64).optional().describe('Accepted and ignored'),
});

/** A route under `/openai` with the handler of another one. */
function elsewhere(
  candidates: readonly Route[],
  id: string,
  {
    path,
    id: azureId,
    examples: toExamples,
  }: { path: `/${string}`; id: string; examples?: (examples: Examples) => Examples },
): Route {
  const original = candidates.find((each) => each.id === id);
  if (original === undefined) throw new Error(`there is no route ${id}`);
  const { summary, examples = {} } = original;
  return route(azureId, `${original.method} ${path}`, {
    ...original,
    query,
    summary: `${summary}, for clients of Azure OpenAI`,
    description: `See \`${original.method} ${original.path}\`. The API key may also stand in \`api-key\`.`,
    examples: toExamples === undefined ? examples : toExamples(examples),
  });
}

/** The first example. Its body may name the model as well, as Azure's SDKs do. */
function deploymentExamples(examples: Examples): Examples {
  const [[name, example] = ['', { summary: '', body: {} }]] = Object.entries(examples);
  const { model } = example.body as { model: string };
  return { [name]: { ...example, params: { model } } };
}

const deployment = '/openai/deployments/{model}';
const models = modelRoutes.map((each) =>
  each.id === 'models.list' ? { ...each, response: ok(modelList) } : each,
);
const listed = ({ all }: Examples): Examples => (all === undefined ? {} : { all });

export const routes: readonly Route[] = [
  elsewhere(openaiRoutes, 'chat.completions', {
    ...{ id: 'azure.deployments.chat', path: `${deployment}/chat/completions`, examples: deploymentExamples },
  }),
  elsewhere(openaiRoutes, 'embeddings.create', {
    ...{ id: 'azure.deployments.embeddings', path: `${deployment}/embeddings`, examples: deploymentExamples },
  }),
  elsewhere(responseRoutes, 'responses.create', { id: 'azure.responses', path: '/openai/responses' }),
  {
    ...elsewhere(models, 'models.list', {
      id: 'azure.models.list',
      path: '/openai/models',
      examples: listed,
    }),
    dialects: ['chat'],
  },
  elsewhere(openaiRoutes, 'chat.completions', { id: 'azure.v1.chat', path: '/openai/v1/chat/completions' }),
  elsewhere(openaiRoutes, 'embeddings.create', { id: 'azure.v1.embeddings', path: '/openai/v1/embeddings' }),
  elsewhere(responseRoutes, 'responses.create', { id: 'azure.v1.responses', path: '/openai/v1/responses' }),
];
