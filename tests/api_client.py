"""Callers of the REST API, for tests."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from rest_framework.authtoken.models import Token

SEARCH = "/api/v1/library/search/"
CONCEPTS = "/api/v1/library/concepts/"


def token_client(name: str = "reader") -> Client:
    """A caller with a token of a new user."""
    token = Token.objects.create(user=User.objects.create_user(name))
    return Client(headers={"Authorization": f"Token {token.key}"})


def post(client: Client, body: Any, path: str = SEARCH) -> Any:
    """POST a body as JSON."""
    return client.post(path, body, content_type="application/json")
