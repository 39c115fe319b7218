import type { Capability } from './capability-effect.ts';
import {
  called,
  cat,
  image,
  paper,
  parts,
  pdf,
  png,
  schema,
  two,
  wav,
  weather,
} from './capability-samples.ts';

const cached = { cache_control: { type: 'ephemeral' } };

/** In the order of the page. */
export const capabilities: readonly Capability[] = [
  { name: 'text', asked: { chat: {}, responses: {}, messages: {}, gemini: {} }, sign: /"Go"/ },
  {
    name: 'system text',
    asked: {
      chat: {
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Go' },
        ],
      },
      responses: { instructions: 'Be kind.' },
      messages: { system: 'Be kind.' },
      gemini: { systemInstruction: { parts: [{ text: 'Be kind.' }] } },
    },
    sign: /Be kind\./,
  },
  {
    name: 'system text between messages',
    asked: {
      chat: {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'Hello.' },
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: 'Go' },
        ],
      },
      responses: {
        input: [
          { role: 'user', content: 'Hi' },
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: 'Go' },
        ],
      },
      messages: {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'Hello.' },
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Go' },
        ],
      },
    },
    sign: /Be kind\./,
  },
  {
    name: 'images as data',
    asked: parts({
      chat: { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
      responses: { type: 'input_image', image_url: `data:image/png;base64,${png}` },
      messages: { type: 'image', source: image },
      gemini: { inlineData: { mimeType: 'image/png', data: png } },
    }),
    sign: new RegExp(png.slice(0, 40)),
  },
  {
    name: 'images by address',
    asked: parts({
      chat: { type: 'image_url', image_url: { url: cat } },
      responses: { type: 'input_image', image_url: cat },
      messages: { type: 'image', source: { type: 'url', url: cat } },
      gemini: { fileData: { mimeType: 'image/png', fileUri: cat } },
    }),
    sign: /cat\.png/,
  },
  {
    name: 'PDF files as data',
    asked: parts({
      chat: {
        type: 'file',
        file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
      },
      responses: {
        ...{ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
      },
      messages: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
      gemini: { inlineData: { mimeType: 'application/pdf', data: pdf } },
    }),
    sign: new RegExp(pdf),
  },
  {
    name: 'PDF files by address',
    asked: parts({
      responses: { type: 'input_file', file_url: paper },
      messages: { type: 'document', source: { type: 'url', url: paper } },
      gemini: { fileData: { mimeType: 'application/pdf', fileUri: paper } },
    }),
    sign: /paper\.pdf/,
  },
  {
    name: 'audio as data',
    asked: parts({
      chat: { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
      gemini: { inlineData: { mimeType: 'audio/wav', data: wav } },
    }),
    sign: new RegExp(wav),
  },
  { name: 'tools', asked: weather, sign: /"weather".*"city"/ },
  {
    name: 'calls at the same time, and their results',
    asked: called,
    sign: /(?=.*Sunny\.)(?=.*Rainy\.)/,
  },
  {
    name: 'images in results',
    asked: {
      messages: {
        ...called.messages,
        messages: [
          { role: 'user', content: 'Go' },
          { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'weather', input: {} }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: '1', content: [{ type: 'image', source: image }] }],
          },
        ],
      },
      responses: {
        ...called.responses,
        input: [
          { role: 'user', content: 'Go' },
          { type: 'function_call', call_id: '1', name: 'weather', arguments: '{}' },
          {
            ...{ type: 'function_call_output', call_id: '1' },
            output: [{ type: 'input_image', image_url: `data:image/png;base64,${png}` }],
          },
        ],
      },
    },
    sign: new RegExp(png.slice(0, 40)),
  },
  {
    name: 'choice of one tool',
    asked: {
      chat: { ...two.chat, tool_choice: { type: 'function', function: { name: 'omega' } } },
      responses: { ...two.responses, tool_choice: { type: 'function', name: 'omega' } },
      messages: { ...two.messages, tool_choice: { type: 'tool', name: 'omega' } },
      gemini: {
        ...two.gemini,
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['omega'] } },
      },
    },
    sign: /"tool_?choice":\{[^}]*"omega"|"allowedFunctionNames":\["omega"\]/i,
  },
  {
    name: 'one call at a time',
    asked: {
      chat: { ...weather.chat, parallel_tool_calls: false },
      responses: { ...weather.responses, parallel_tool_calls: false },
      messages: { ...weather.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    },
    sign: /"parallel_tool_calls":false|"disable_parallel_tool_use":true/,
  },
  {
    name: 'stop sequences',
    asked: {
      chat: { stop: ['END7'] },
      messages: { stop_sequences: ['END7'] },
      gemini: { generationConfig: { stopSequences: ['END7'] } },
    },
    sign: /END7/,
  },
  {
    name: '`temperature`',
    asked: {
      chat: { temperature: 0.37 },
      responses: { temperature: 0.37 },
      messages: { temperature: 0.37 },
      gemini: { generationConfig: { temperature: 0.37 } },
    },
    sign: /"temperature":0\.37/,
  },
  {
    name: '`top_p`',
    asked: {
      chat: { top_p: 0.41 },
      responses: { top_p: 0.41 },
      messages: { top_p: 0.41 },
      gemini: { generationConfig: { topP: 0.41 } },
    },
    sign: /"top_?p":0\.41/i,
  },
  {
    name: '`top_k`',
    asked: { messages: { top_k: 7 }, gemini: { generationConfig: { topK: 7 } } },
    sign: /"top_?k":7/i,
  },
  {
    name: '`seed`',
    asked: { chat: { seed: 4_711 }, gemini: { generationConfig: { seed: 4_711 } } },
    sign: /"seed":4711/,
  },
  {
    name: 'penalties',
    asked: { chat: { frequency_penalty: 0.23 }, gemini: { generationConfig: { frequencyPenalty: 0.23 } } },
    sign: /"frequency_?penalty":0\.23/i,
  },
  {
    name: 'a limit of tokens',
    asked: {
      chat: { max_completion_tokens: 321 },
      responses: { max_output_tokens: 321 },
      messages: { max_tokens: 321 },
      gemini: { generationConfig: { maxOutputTokens: 321 } },
    },
    sign: /tokens":321/i,
  },
  {
    name: 'output by a schema',
    asked: {
      chat: {
        response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
      },
      responses: { text: { format: { type: 'json_schema', name: 'place', schema, strict: true } } },
      messages: { output_config: { format: { type: 'json_schema', schema } } },
      gemini: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } },
    },
    sign: /city/,
  },
  {
    name: 'output of any JSON object',
    asked: {
      chat: { response_format: { type: 'json_object' } },
      responses: { text: { format: { type: 'json_object' } } },
      gemini: { generationConfig: { responseMimeType: 'application/json' } },
    },
    sign: /json/i,
  },
  {
    name: 'effort of reasoning',
    asked: {
      chat: { reasoning_effort: 'high' },
      responses: { reasoning: { effort: 'high' } },
      messages: { output_config: { effort: 'high' }, thinking: { type: 'adaptive' } },
      gemini: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
    },
    sign: /"effort":"high"|"reasoning_effort":"high"|"thinking(?:Level)?":/,
  },
  {
    name: 'several choices',
    asked: { chat: { n: 2 }, gemini: { generationConfig: { candidateCount: 2 } } },
    sign: /"(?:n|candidateCount)":2/,
  },
  {
    name: 'log probabilities',
    asked: {
      chat: { logprobs: true },
      responses: { top_logprobs: 3 },
      gemini: { generationConfig: { responseLogprobs: true } },
    },
    sign: /logprobs/i,
  },
  { name: '`logit_bias`', asked: { chat: { logit_bias: { 42: 1 } } }, sign: /logit/ },
  {
    name: 'web search of the provider',
    asked: {
      chat: { web_search_options: {} },
      responses: { tools: [{ type: 'web_search' }] },
      messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      gemini: { tools: [{ googleSearch: {} }] },
    },
    sign: /search/i,
  },
  {
    name: 'execution of code by the provider',
    asked: {
      responses: { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
      messages: { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
      gemini: { tools: [{ codeExecution: {} }] },
    },
    sign: /code/i,
  },
  {
    name: 'files by the id of a provider',
    asked: parts({
      chat: { type: 'file', file: { file_id: 'file-abc' } },
      responses: { type: 'input_file', file_id: 'file-abc' },
      messages: { type: 'document', source: { type: 'file', file_id: 'file-abc' } },
      gemini: {
        fileData: {
          mimeType: 'application/pdf',
          fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/file-abc',
        },
      },
    }),
    sign: /file-abc/,
  },
  { name: '`cachedContent`', asked: { gemini: { cachedContent: 'cachedContents/abc' } }, sign: /cachedC/ },
  {
    name: 'audio as output',
    asked: {
      chat: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
      gemini: { generationConfig: { responseModalities: ['AUDIO'] } },
    },
    sign: /audio/i,
  },
  {
    name: 'places to cache the prompt up to',
    asked: {
      chat: { messages: [{ role: 'user', content: [{ type: 'text', text: 'Go', ...cached }] }] },
      responses: { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Go', ...cached }] }] },
      messages: { messages: [{ role: 'user', content: [{ type: 'text', text: 'Go', ...cached }] }] },
    },
    sign: /cache/,
  },
  {
    name: 'keys of a cache',
    asked: { chat: { prompt_cache_key: 'k-7' }, responses: { prompt_cache_key: 'k-7' } },
    sign: /k-7/,
  },
  {
    name: '`metadata`, users',
    asked: {
      chat: { metadata: { a: 'b7' }, user: 'b7' },
      responses: { metadata: { a: 'b7' }, safety_identifier: 'b7' },
      messages: { metadata: { user_id: 'b7' } },
      gemini: { labels: { a: 'b7' } },
    },
    sign: /b7/,
  },
  {
    name: 'service tiers',
    asked: {
      chat: { service_tier: 'flex' },
      responses: { service_tier: 'flex' },
      messages: { service_tier: 'standard_only' },
    },
    sign: /tier/i,
  },
  {
    name: 'verbosity',
    asked: { chat: { verbosity: 'low' }, responses: { text: { verbosity: 'low' } } },
    sign: /verbosity/,
  },
  {
    name: 'fields that Gatehouse does not know',
    asked: {
      chat: { newest_field: 1 },
      responses: { newest_field: 1 },
      messages: { newest_field: 1 },
      gemini: { newestField: 1 },
    },
    sign: /newest/,
  },
];
