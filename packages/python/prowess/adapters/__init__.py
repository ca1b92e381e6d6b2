"""Small functions that connect a :class:`~prowess.Chat` with an agent library. Each module imports only its library.

- ``prowess.adapters.anthropic`` and ``openai``: tools of a request, and answers to a response.
- ``prowess.adapters.google_genai``: the same with the types of the Google GenAI SDK.
- ``prowess.adapters.pydantic_ai`` and ``langchain``: the tools as those of the library.
- ``prowess.adapters.mcp``: the tools and results as those of an MCP server, and the command as a server for clients.
"""
