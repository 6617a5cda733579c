"""Routes of the project."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.generic import RedirectView

from library.api.views import TokenRenewalView, TokenView
from library.views import guarded, metrics

login = LoginView.as_view(template_name="library/login.html", redirect_authenticated_user=True)

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="library:search"), name="home"),
    path("admin/", admin.site.urls),
    path("accounts/login/", guarded(login), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("library/", include("library.urls")),
    path("api/v1/library/", include("library.api.urls")),
    path("api/v1/token/", TokenView.as_view(), name="token"),
    path("api/v1/token/refresh/", TokenRenewalView.as_view(), name="token_refresh"),
    path("metrics", metrics, name="metrics"),
]
