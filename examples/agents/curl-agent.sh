#!/bin/sh
# An agent as a shell script: it lets the model write a draft and then answer. It needs curl and jq.
#
#   npx lyceum eval --env math --set tasks=arithmetic --model MODEL -M 'program.command=["sh", "examples/agents/curl-agent.sh"]'
set -eu

ask() {
  jq -n --arg model "$LYCEUM_MODEL" --argjson messages "$1" '{model: $model, messages: $messages}' |
    curl -sSf "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
      -H "Content-Type: application/json" -d @- |
    jq '.choices[0].message'
}

# The conversation with the environment comes as {"messages": [{"role", "content": [{"type", "text"}]}]}.
question=$(jq '[.messages[] | {role, content: ([.content[] | .text // ""] | join(""))}]')
draft=$(ask "$question")
ask "$(printf '%s' "$question" | jq --argjson draft "$draft" '. + [$draft, {role: "user", content: "Check it, and answer again."}]')" |
  jq -r '.content'
