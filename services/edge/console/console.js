/* The API console: Swagger UI over the gateway's own document, which tries requests through the browser relay. */

// Relative to the page, so that the console also works where the gateway is under a path of something else.
const here = new URL('.', location.href);
const relay = new URL('api-docs/proxy', here).href;

/** The text that the events of a streamed completion spell; empty for what is none. */
function streamText(contentType, content) {
  if (!contentType?.startsWith('text/event-stream') || typeof content !== 'string') return '';
  const events = content.match(/^data: \{.*$/gm) ?? [];
  return events
    .flatMap((line) => JSON.parse(line.slice('data: '.length)).choices ?? [])
    .map((choice) => choice.delta?.content ?? '')
    .join('');
}

/** Shows a stream's text above its events. */
function streamTextPlugin() {
  return {
    wrapComponents: {
      responseBody: (ResponseBody, { React }) =>
        function ResponseBodyWithText(props) {
          const text = streamText(props.contentType, props.content);
          const body = React.createElement(ResponseBody, props);
          if (text === '') return body;
          return React.createElement(
            'div',
            null,
            React.createElement(
              'div',
              { className: 'stream-text' },
              React.createElement('h5', null, 'Text'),
              React.createElement('p', null, text),
            ),
            body,
          );
        },
    },
  };
}

/** Groups of operations whose method, path, summary or group contains each word of a phrase. */
function matchingOperations(groups, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  return groups
    .map((group, name) =>
      group.update('operations', (operations) =>
        operations.filter((entry) => {
          const summary = entry.getIn(['operation', 'summary']);
          const text = [name, entry.get('method'), entry.get('path'), summary].join(' ').toLowerCase();
          return words.every((word) => text.includes(word));
        }),
      ),
    )
    .filter((group) => group.get('operations').size > 0);
}

/** A search field: operations that are out of view are not drawn, so the browser's own search misses them. */
function searchPlugin({ React }) {
  function SearchField({ layoutSelectors, layoutActions }) {
    const phrase = layoutSelectors.currentFilter();
    return React.createElement(
      'div',
      { className: 'operation-search wrapper' },
      React.createElement('input', {
        type: 'search',
        placeholder: 'Search operations',
        'aria-label': 'Search operations',
        value: typeof phrase === 'string' ? phrase : '',
        onChange: ({ target }) => layoutActions.updateFilter(target.value),
      }),
    );
  }
  return { fn: { opsFilter: matchingOperations }, components: { FilterContainer: SearchField } };
}

SwaggerUIBundle({
  url: new URL('openapi.json', here).href,
  domNode: document.getElementById('console'),
  plugins: [streamTextPlugin, searchPlugin],
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  deepLinking: true,
  // Keys stay in this tab's memory, and only the gateway is called.
  persistAuthorization: false,
  validatorUrl: null,
  // The request itself is shown to copy: programs don't use the relay.
  showMutatedRequest: false,
  requestInterceptor: (request) => {
    if (request.loadSpec) return request;
    const { pathname, search } = new URL(request.url, here);
    request.url = relay + pathname + search;
    return request;
  },
});
